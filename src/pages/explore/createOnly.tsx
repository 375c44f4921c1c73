// The page of a collection in which the reader may create rows, but may not read any.
import { useState } from 'preact/hooks'
import { Button } from './controls.tsx'
import { NewPanel, newWords } from './form.tsx'
import type { Writable } from './writable.ts'

/** The form for a new row. If it is closed, a button opens a new form. */
export function CreateOnly({ writable }: { readonly writable: Writable }) {
  const [isOpen, open] = useState(true)
  const close = () => open(false)
  return (
    <>
      <div class="bar">
        <h1>{writable.plural}</h1>
        <span class="count">You may create rows here, and read none.</span>
        {!isOpen && <Button class="button primary" label={newWords(writable)} onClick={() => open(true)} />}
      </div>
      {isOpen && <NewPanel writable={writable} created={close} close={close} />}
    </>
  )
}
