// A program that is compiled with the generated client of a server with a named view, /Directory, and never run.
import {
  createRoster,
  type Directory,
  type DirectoryField,
  type DirectoryFilter,
  type DirectoryKinds,
  type DirectoryPaths,
  type DirectorySort,
  type RosterPage,
  type RosterView,
} from './roster.ts'

const roster = createRoster({ url: 'http://127.0.0.1:3000', key: 'a key' })

export async function right(): Promise<unknown[]> {
  const page: RosterPage<Directory> = await roster.directory.list({
    filter: { displayName: { contains: 'a' }, managerId: { under: 1 }, 'managerId.department': 'IT' },
    sort: ['-displayName', 'id'],
  })
  const found: unknown[] = [page.total]
  for await (const { id, displayName } of roster.directory.stream({ fields: ['id', 'displayName'] })) found.push(id, displayName)
  for await (const row of roster.directory.all()) found.push(row.manager)
  const { groups } = await roster.directory.summary({ groupBy: ['department'] })
  const view: RosterView<Directory, DirectoryFilter, DirectorySort, DirectoryField, DirectoryKinds, DirectoryPaths> =
    roster.directory
  return [...found, groups, await view.get(1), await view.follow('?page=2')]
}

export async function wrong(): Promise<unknown> {
  // @ts-expect-error a view is read-only
  roster.directory.create({})
  // @ts-expect-error a view is read-only
  roster.directory.update(1, {})
  // @ts-expect-error a view is read-only
  roster.directory.delete(1)
  // @ts-expect-error a view has no changes
  roster.directory.sync()
  // @ts-expect-error a view has no changes
  roster.directory.history(1)
  // @ts-expect-error the change feed has no views
  roster.changes.list({ entity: 'Directory' })
  // @ts-expect-error a property that the view does not show
  roster.directory.list({ filter: { workEmail: 'a' } })
  // @ts-expect-error a property that the view does not show
  roster.directory.list({ sort: 'workEmail' })
  // @ts-expect-error rows of a view are written at the path of their entity
  roster.directory.list({ may: 'update' })
  const row = await roster.directory.get(1)
  // @ts-expect-error a property that the view does not show
  return row.workEmail
}
