"""Keeps a copy of a collection in SQLite: python sync.py Absences absences.db, with ROSTER_URL and ROSTER_KEY in the environment."""
import json, os, sqlite3, sys, time
from decimal import Decimal
import requests

ROSTER_URL, (ENTITY, FILE) = os.environ['ROSTER_URL'], sys.argv[1:]
session = requests.Session()
session.headers['Authorization'] = 'ApiKey ' + os.environ['ROSTER_KEY']
copy = sqlite3.connect(FILE)
copy.execute('create table if not exists row (id integer primary key, json text)')
copy.execute('create table if not exists state (token text, last integer, entity text)')  # last: null once the copy is whole


def ask(path, **options):
    while True:
        try:
            answer = session.get(f'{ROSTER_URL}/{path}', timeout=60, **options)
            if answer.status_code not in (429, 503):
                return answer
            time.sleep(int(answer.headers.get('Retry-After', 5)))
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
            time.sleep(1)


def parse(text):
    return json.loads(text, parse_float=Decimal)  # a float has 15 of the 18 digits that a decimal may have


def text(value):  # as json.dumps, which writes no Decimal
    if isinstance(value, dict):
        return '{' + ','.join(f'{json.dumps(key)}:{text(part)}' for key, part in value.items()) + '}'
    return format(value, 'f') if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def save(rows, deleted, token, last=None):
    with copy:  # one transaction, so that a run that is killed goes on from here
        copy.executemany('insert or replace into row values (?, ?)', [(row['id'], text(row)) for row in rows])
        copy.executemany('delete from row where id = ?', [(id,) for id in deleted])
        copy.execute('delete from state')
        copy.execute('insert into state values (?, ?, ?)', (token, last, ENTITY))


def first_copy(token=None, last=0):
    while True:
        answer = ask(ENTITY, params={'Id': f'>{last}'}, headers={'Accept': 'application/x-ndjson'}, stream=True)
        answer.raise_for_status()
        token, rows = token or answer.headers['X-Changes-After'], []
        try:
            for line in answer.iter_lines(chunk_size=65536):
                row = parse(line)
                if 'Error' in row:  # such as the limit of the key
                    break
                rows, last = rows + [row], row['id']
                if len(rows) == 500:
                    save(rows, [], token, last)
                    rows = []
            else:
                return save(rows, [], token)
        except requests.RequestException:
            pass
        save(rows, [], token, last)


token, last, entity = copy.execute('select * from state').fetchone() or (None, 0, ENTITY)
if entity != ENTITY:
    sys.exit(f'{FILE} is a copy of {entity}: take another file')
if last is not None:
    first_copy(token, last)
more = True
while more:
    token = copy.execute('select token from state').fetchone()[0]
    answer = ask('Changes', params={'after': token, 'entity': ENTITY, 'rows': 'current', 'PageSize': 500})
    if answer.status_code == 410:  # changes were missed: the copy begins anew
        with copy:
            copy.execute('delete from row')
        first_copy()
        continue
    answer.raise_for_status()
    page = parse(answer.content)
    rows, more = {change['id']: change['row'] for change in page['changes']}, page['more']
    save([row for row in rows.values() if row], [id for id, row in rows.items() if row is None], page['next'])
print(copy.execute('select count(*) from row').fetchone()[0], 'rows')
