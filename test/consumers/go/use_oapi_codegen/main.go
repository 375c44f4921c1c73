// With the client that oapi-codegen makes. See ../../go.test.ts.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	api "consumers/oapi_codegen"
)

var (
	ctx    = context.Background()
	client = must(api.NewClientWithResponses(os.Getenv("ROSTER_URL"), api.WithRequestEditorFn(authorize)))
)

func authorize(_ context.Context, request *http.Request) error {
	request.Header.Set("Authorization", "ApiKey "+os.Getenv("ROSTER_KEY"))
	return nil
}

// Returns what has changed behind a token, up to a change of an absence, for which it waits.
func changesAfter(after string) *api.Changes {
	wait, current := 30, api.ListChangesParamsRowsCurrent
	absences := []api.ListChangesParamsEntity{api.ListChangesParamsEntityAbsences}
	must(client.ListChangesWithResponse(ctx, &api.ListChangesParams{After: &after, Entity: &absences, Wait: &wait}))
	return must(client.ListChangesWithResponse(ctx, &api.ListChangesParams{After: &after, Rows: &current})).JSON200
}

func main() {
	february := []string{">=2026-02-01T00:00:00Z", "<2026-03-01T00:00:00Z"}
	found := must(client.ListAbsencesWithResponse(ctx, &api.ListAbsencesParams{Start: &february})).JSON200
	first, department := []string{"1"}, []string{"Engineering"}
	fields := []api.AbsenceField{api.AbsenceFieldId, api.AbsenceFieldStatus, api.AbsenceFieldEmployeeIdDepartment}
	chosen := api.ListAbsencesParams{Id: &first, EmployeeIdDepartment: &department, Fields: &fields}
	some := (*must(client.ListAbsencesWithResponse(ctx, &chosen)).JSON200)[0]
	now, name, holiday := "now", "Generated", "Holiday"
	start := must(client.ListChangesWithResponse(ctx, &api.ListChangesParams{After: &now})).JSON200
	created := must(client.CreateCompanyWithResponse(ctx, nil, api.CompanyWrite{Name: &name})).JSON201
	absence := must(client.CreateAbsenceWithResponse(ctx, nil, api.AbsenceWrite{Type: &holiday})).JSON201
	changes := changesAfter(start.Next)
	must(client.DeleteCompanyWithResponse(ctx, *created.Id, nil))
	must(client.DeleteAbsenceWithResponse(ctx, *absence.Id, nil))
	ids := []string{}
	for _, row := range *found {
		ids = append(ids, fmt.Sprint(*row.Id))
	}
	fmt.Println(strings.Join(ids, ","), *some.Id, *some.Status, *some.EmployeeIdDepartment, *created.Id > 0, *created.Name)
	sayChanges(changes)
	sayChanges(changesAfter(changes.Next))
}

func sayChanges(page *api.Changes) {
	texts := []string{}
	for _, change := range page.Changes {
		switch own := must(change.ValueByDiscriminator()).(type) {
		case api.CompanyChange:
			text := "null"
			if own.Row != nil {
				text = *own.Row.Name
			}
			texts = append(texts, fmt.Sprint(own.Entity, " ", text))
		case api.AbsenceChange:
			text := "null"
			if own.Row != nil {
				text = *own.Row.Type
			}
			texts = append(texts, fmt.Sprint(own.Entity, " ", text))
		}
	}
	fmt.Println(strings.Join(texts, ", "))
}

func must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}
