// Takes the file to import: the reader drops it on the page, or chooses it in a field. Only readers who may create rows can
// import.
import { useEffect, useState } from 'preact/hooks'
import { Button } from './controls.tsx'
import { importWorkOf } from './importWork.ts'
import type { Resource } from './resources.ts'
import { change, type Shown, type View } from './view.ts'
import { writableOf } from './writable.ts'

/** Extensions of the files that can be read. */
const ACCEPTED = '.csv,.tsv,.txt,.xlsx,.xlsm'

/** True if a right lets the reader create rows of the collection: an import needs such a right. */
export function mayImport(resource: Resource): boolean {
  return (writableOf(resource)?.creates.length ?? 0) > 0
}

function take(resource: Resource, view: View, file: File | undefined): void {
  const writable = writableOf(resource)
  if (!writable || !file) return
  void importWorkOf(resource, writable).take(file)
  change(view, { row: '', form: 'import' })
}

/** Button that opens the import. As long as the button is shown, a file can be dropped anywhere on the page. */
export function ImportButton({ resource, view }: Shown) {
  if (!mayImport(resource)) return null
  return (
    <>
      <Button label="Import" onClick={() => change(view, { row: '', form: 'import' })} />
      <DropArea resource={resource} view={view} />
    </>
  )
}

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true

/** Takes a file that is dropped anywhere on the page. While a file is held over the page, a notice covers the page. */
export function DropArea({ resource, view }: Shown) {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return
      // Without this, the browser would open the file in place of the page.
      event.preventDefault()
      setOver(true)
    }
    const onLeave = ({ relatedTarget }: DragEvent) => relatedTarget === null && setOver(false)
    const onDrop = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(false)
      take(resource, view, event.dataTransfer?.files[0])
    }
    addEventListener('dragover', onOver)
    addEventListener('dragleave', onLeave)
    addEventListener('drop', onDrop)
    return () => {
      removeEventListener('dragover', onOver)
      removeEventListener('dragleave', onLeave)
      removeEventListener('drop', onDrop)
    }
  }, [resource, view])
  return isOver ? <p class="drop">Drop the file to import it into {resource.plural}</p> : null
}

/** Field in which the reader chooses the file to import. */
export function FileField({ resource, view }: Shown) {
  return (
    <p class="row">
      <label for="import-file">An Excel file (.xlsx) or a CSV: drop it here, or choose it</label>{' '}
      <input
        id="import-file"
        type="file"
        accept={ACCEPTED}
        onChange={({ currentTarget }) => {
          take(resource, view, currentTarget.files?.[0])
          // Clears the field, so that the same file can be chosen again after it was corrected.
          currentTarget.value = ''
        }}
      />
    </p>
  )
}
