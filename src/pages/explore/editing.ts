// Finds the forms that change one row, according to the rights that admit the row. If the page cannot compare a row with a
// right's conditions, it asks the server.
import { useEffect, useState } from 'preact/hooks'
import { readTotal, send } from './api.ts'
import type { Resource, Row } from './resources.ts'
import { updateVariants, type Variant, withoutContained } from './variants.ts'
import { printPath } from './view.ts'
import { writableOf } from './writable.ts'

/**
 * Maximum requests for one row, each of which asks whether a right admits the row. Few people have more rights that only the
 * server can check.
 */
const ASKED_MAX = 5

/** Hook that returns the forms that change a row; null while it asks the server which rights admit the row. */
export function useEditing(resource: Resource, row: Row | null): readonly Variant[] | null {
  const writable = writableOf(resource)
  const variants = row && writable ? updateVariants(writable, resource, row) : []
  const id = row === null ? '' : `${resource.plural}/${row.id}`
  const pathOf = ({ fields }: Variant) =>
    printPath(resource.plural, [{ name: 'Id', sign: '=', values: [String(row?.id)] }], {
      may: `update(${fields.map(({ name }) => name).join()})`,
    })
  const isAsked = ({ isSure }: Variant) => !isSure && resource.hasMay
  const paths = variants.filter(isAsked).slice(0, ASKED_MAX).map(pathOf)
  const [answer, setAnswer] = useState<{ readonly id: string; readonly admitted: readonly string[] }>({ id: '', admitted: [] })
  useEffect(() => {
    if (paths.length === 0) return
    const controller = new AbortController()
    const { signal } = controller
    const ask = async (path: string) => ((await readTotal(await send(path, { method: 'HEAD', signal }))) > 0 ? [path] : [])
    Promise.all(paths.map(ask)).then(
      (found) => !signal.aborted && setAnswer({ id, admitted: found.flat() }),
      // If a request fails, the row has no form.
      () => undefined,
    )
    return () => controller.abort()
  }, [id, paths.join(' ')])
  if (paths.length > 0 && answer.id !== id) return null
  return withoutContained(variants.filter((variant) => !isAsked(variant) || answer.admitted.includes(pathOf(variant))))
}
