# With the client that openapi-generator makes for Python. See ../openApi.test.ts.
import os
import sys

sys.path.insert(0, 'openapi_generator_python')
from generated import (  # noqa: E402
    AbsenceField,
    AbsencesApi,
    AbsenceWrite,
    ApiClient,
    ChangesApi,
    CompaniesApi,
    Company,
    CompanyWrite,
    Configuration,
)

configuration = Configuration(os.environ['ROSTER_URL'], {'ApiKey': os.environ['ROSTER_KEY']}, {'ApiKey': 'ApiKey'})
client = ApiClient(configuration)
absences, companies, feed = AbsencesApi(client), CompaniesApi(client), ChangesApi(client)


def changes_after(after):
    """What has changed behind a token, up to a change of an absence, for which it waits."""
    feed.list_changes(after=after, entity=['Absences'], wait=30)
    return feed.list_changes(after=after, rows='current')


def text_of(row):
    return 'null' if row is None else row.name if isinstance(row, Company) else row.type


def text_of_changes(page):
    changes = [change.actual_instance for change in page.changes]
    return ', '.join(f'{change.entity} {text_of(change.row)}' for change in changes)


found = absences.list_absences(start=['>=2026-02-01T00:00:00Z', '<2026-03-01T00:00:00Z'])
fields = [AbsenceField.ID, AbsenceField.STATUS, AbsenceField.EMPLOYEE_ID_DOT_DEPARTMENT]
some = absences.list_absences(id=['1'], employee_id_department=['Engineering'], fields=fields)[0]
start = feed.list_changes(after='now')
created = companies.create_company(CompanyWrite(name='Generated'))
absence = absences.create_absence(AbsenceWrite(type='Holiday'))
changes = changes_after(start.next)
companies.delete_company(created.id)
absences.delete_absence(absence.id)
ids = ','.join(str(row.id) for row in found)
print(ids, some.id, some.status, some.employee_id_department, str(created.id > 0).lower(), created.name)
print(text_of_changes(changes))
print(text_of_changes(changes_after(changes.next)))
