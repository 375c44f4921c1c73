# With the client that openapi-generator makes. See ../openApi.test.ts.
import os

from openapi_client import AbsencesApi, ApiClient, CompaniesApi, CompanyWrite, Configuration

key = {'ApiKey': f"ApiKey {os.environ['ROSTER_KEY']}"}
with ApiClient(Configuration(host=os.environ['ROSTER_URL'], api_key=key)) as client:
    absences = AbsencesApi(client)
    found = absences.list_absences(start=['>=2026-02-01T00:00:00Z', '<2026-03-01T00:00:00Z'])
    some = absences.list_absences(id=['1'], fields=['Id', 'Status'])[0].actual_instance
    companies = CompaniesApi(client)
    created = companies.create_company(CompanyWrite(name='Generated'))
    companies.delete_company(created.id)
    ids = ','.join(str(row.actual_instance.id) for row in found)
    print(ids, some.id, some.status, str(created.id > 0).lower(), created.name)
