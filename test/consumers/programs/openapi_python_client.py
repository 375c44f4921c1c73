# With the client that openapi-python-client makes. See ../openApi.test.ts.
import os

from python_client import AuthenticatedClient
from python_client.api.absences import list_absences
from python_client.api.companies import create_company, delete_company
from python_client.models import AbsenceField, CompanyWrite

client = AuthenticatedClient(os.environ['ROSTER_URL'], os.environ['ROSTER_KEY'], prefix='ApiKey')
found = list_absences.sync(client=client, start=['>=2026-02-01T00:00:00Z', '<2026-03-01T00:00:00Z'])
some = list_absences.sync(client=client, id=['1'], fields=[AbsenceField.ID, AbsenceField.STATUS])[0]
created = create_company.sync(client=client, body=CompanyWrite(name='Generated'))
delete_company.sync_detailed(created.id, client=client)
ids = ','.join(str(row.id) for row in found)
print(ids, some.id, some.status, str(created.id > 0).lower(), created.name)
