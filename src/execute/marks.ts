import { LruCache } from '../model/lruCache.ts'

/** Where a write asks which machine sends it. */
const MACHINE = "current_setting('roster.machine', true)"
const TEXTS_BYTES_MAX = 8 * 2 ** 20

/**
 * Names the machine in each write itself, for connections that are not ours alone: behind a pooler in transaction mode a setting
 * of the session would be that of any other program, too. The triggers of the change log run at the end of the statement,
 * and so see what it has set, until its transaction ends.
 */
export class Marks {
  private readonly texts = new LruCache<string>(TEXTS_BYTES_MAX, (text) => 4 * text.length)
  private readonly marked: string

  /** @throws RangeError for a name that cannot stand in a statement */
  constructor(machine: string) {
    if (!/^[\w-]+$/.test(machine)) throw new RangeError('a machine is named by letters, digits and hyphens')
    this.marked = `set_config('roster.machine', '${machine}', true)`
  }

  /** The text of a write, with the mark. One that does not ask has none. */
  of(text: string): string {
    let marked = this.texts.get(text)
    if (marked === undefined) this.texts.set(text, (marked = text.replaceAll(MACHINE, this.marked)))
    return marked
  }
}
