// With the client that ogen makes. See ../../go.test.ts.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	api "consumers/ogen"
)

var (
	ctx    = context.Background()
	client = must(api.NewClient(os.Getenv("ROSTER_URL"), key{}))
)

type key struct{}

func (key) ApiKey(context.Context, api.OperationName) (api.ApiKey, error) {
	return api.ApiKey{APIKey: "ApiKey " + os.Getenv("ROSTER_KEY")}, nil
}

func listChanges(params api.ListChangesParams) api.Changes {
	return must(client.ListChanges(ctx, params)).(*api.ChangesHeaders).Response
}

// Returns what has changed behind a token, up to a change of an absence, for which it waits.
func changesAfter(after string) api.Changes {
	absences := []api.ListChangesEntityItem{api.ListChangesEntityItemAbsences}
	listChanges(api.ListChangesParams{After: api.NewOptString(after), Entity: absences, Wait: api.NewOptInt(30)})
	current := api.NewOptChangesRows(api.ChangesRowsCurrent)
	return listChanges(api.ListChangesParams{After: api.NewOptString(after), Rows: current})
}

func listAbsences(params api.ListAbsencesParams) []api.Absence {
	return must(client.ListAbsences(ctx, params)).(*api.ListAbsencesOKApplicationJSONHeaders).Response
}

func main() {
	found := listAbsences(api.ListAbsencesParams{
		Start: []api.InstantCondition{">=2026-02-01T00:00:00Z", "<2026-03-01T00:00:00Z"},
	})
	some := listAbsences(api.ListAbsencesParams{
		ID:                   []api.IntegerCondition{"1"},
		EmployeeIdDepartment: []api.TextCondition{"Engineering"},
		Fields:               []api.AbsenceField{api.AbsenceFieldID, api.AbsenceFieldStatus, api.AbsenceFieldEmployeeIdDepartment},
	})[0]
	start := listChanges(api.ListChangesParams{After: api.NewOptString("now")})
	company := &api.CompanyWrite{Name: api.NewOptNilString("Generated")}
	created := must(client.CreateCompany(ctx, company, api.CreateCompanyParams{})).(*api.CompanyWrittenHeaders).Response
	holiday := &api.AbsenceWrite{Type: api.NewOptNilString("Holiday")}
	absence := must(client.CreateAbsence(ctx, holiday, api.CreateAbsenceParams{})).(*api.AbsenceWrittenHeaders).Response
	changes := changesAfter(start.Next)
	must(client.DeleteCompany(ctx, api.DeleteCompanyParams{ID: created.ID}))
	must(client.DeleteAbsence(ctx, api.DeleteAbsenceParams{ID: absence.ID}))
	ids := []string{}
	for _, row := range found {
		ids = append(ids, fmt.Sprint(row.ID.Value))
	}
	fmt.Println(strings.Join(ids, ","), some.ID.Value, some.Status.Value, some.EmployeeIdDotDepartment.Value, created.ID > 0, created.Name.Value)
	sayChanges(changes)
	sayChanges(changesAfter(changes.Next))
}

func sayChanges(page api.Changes) {
	texts := []string{}
	for _, change := range page.Changes {
		text := "null"
		if own, ok := change.GetCompanyChange(); ok {
			if row, ok := own.Row.Get(); ok {
				text = row.Name.Value
			}
			texts = append(texts, fmt.Sprint(own.Entity, " ", text))
		}
		if own, ok := change.GetAbsenceChange(); ok {
			if row, ok := own.Row.Get(); ok {
				text = row.Type.Value
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
