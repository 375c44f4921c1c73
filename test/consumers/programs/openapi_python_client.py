# With the client that openapi-python-client makes. See ../openApi.test.ts.
import os

from python_client import AuthenticatedClient
from python_client.api.absences import create_absence, delete_absence, list_absences
from python_client.api.changes import list_changes
from python_client.api.companies import create_company, delete_company
from python_client.models import AbsenceField, AbsenceWrite, Company, CompanyWrite, ListChangesEntityItem, ListChangesRows

client = AuthenticatedClient(os.environ['ROSTER_URL'], os.environ['ROSTER_KEY'], prefix='ApiKey')


def changes_after(after):
    """What has changed behind a token, up to a change of an absence, for which it waits."""
    list_changes.sync(client=client, after=after, entity=[ListChangesEntityItem.ABSENCES], wait=30)
    return list_changes.sync(client=client, after=after, rows=ListChangesRows.CURRENT)


def text_of(row):
    return 'null' if row is None else row.name if isinstance(row, Company) else row.type_


def text_of_changes(page):
    return ', '.join(f'{change.entity.value} {text_of(change.row)}' for change in page.changes)


found = list_absences.sync(client=client, start=['>=2026-02-01T00:00:00Z', '<2026-03-01T00:00:00Z'])
fields = [AbsenceField.ID, AbsenceField.STATUS, AbsenceField.EMPLOYEEID_DEPARTMENT]
some = list_absences.sync(client=client, id=['1'], employee_id_department=['Engineering'], fields=fields)[0]
start = list_changes.sync(client=client, after='now')
created = create_company.sync(client=client, body=CompanyWrite(name='Generated'))
absence = create_absence.sync(client=client, body=AbsenceWrite(type_='Holiday'))
changes = changes_after(start.next_)
delete_company.sync_detailed(created.id, client=client)
delete_absence.sync_detailed(absence.id, client=client)
ids = ','.join(str(row.id) for row in found)
print(ids, some.id, some.status, some.employee_id_department, str(created.id > 0).lower(), created.name)
print(text_of_changes(changes))
print(text_of_changes(changes_after(changes.next_)))
