import { useEffect, useState } from 'preact/hooks'
import { type Problem, ROOT } from './api.ts'

/** The API's words for a refusal. Where it says when to ask again, a countdown that then does so. */
export function Trouble({ problem, retry }: { readonly problem: Problem; retry(): void }) {
  const { message, code, retryAfter } = problem
  const [seconds, setSeconds] = useState(retryAfter ?? 0)
  useEffect(() => {
    if (retryAfter === null) return
    if (seconds <= 0) return retry()
    const timer = setTimeout(() => setSeconds(seconds - 1), 1_000)
    return () => clearTimeout(timer)
  }, [seconds])
  return (
    <p class="trouble">
      <span role="alert">{message}</span>
      {retryAfter !== null && (
        <span>
          Asking again in {Math.max(1, seconds)} s{' '}
          <button type="button" class="button" onClick={retry}>
            Ask now
          </button>
        </span>
      )}
      {code !== '' && <a href={`${ROOT}errors/${code}`}>What {code} means</a>}
    </p>
  )
}
