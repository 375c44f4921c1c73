import { useState } from 'preact/hooks'

interface Props {
  readonly label: string
  readonly isQuiet?: boolean
  text(): string
}

/** Copies a text, and says so. */
export function CopyButton({ label, isQuiet = false, text }: Props) {
  const [isCopied, say] = useState(false)
  const copy = async () => {
    await copyText(text())
    say(true)
    setTimeout(() => say(false), 1_500)
  }
  return (
    <button type="button" class={isQuiet ? 'link' : 'button'} onClick={copy}>
      <span aria-live="polite">{isCopied ? 'Copied' : label}</span>
    </button>
  )
}

/** Browsers have a clipboard over HTTPS and for this machine; elsewhere a field is copied. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
