// Rights of keys whose rights are written in a block of the roles file.
import { isOpen } from '../rights/openFilter.ts'
import { NarrowRights } from '../rights/reader.ts'
import { Missing } from './binding.ts'
import { bindRight } from './bindRight.ts'
import type { KeyBlock } from './file.ts'
import type { Collections } from './personRights.ts'
import { ANY_TIME, type RequestTime, requestTime } from './requestTime.ts'

export class KeyRights {
  private time: RequestTime | null = null
  private made: NarrowRights | null = null
  private readonly usesTime: boolean

  constructor(
    private readonly block: KeyBlock,
    private readonly collections: Collections,
  ) {
    this.usesTime = block.rights.some(({ right }) => [...right.filters, ...(right.becomes ?? [])].some(isOpen))
  }

  /** Returns the current rights. The object stays the same as long as the text of the rights stays the same. */
  now(): NarrowRights {
    const time = this.usesTime ? requestTime() : ANY_TIME
    if (this.made && this.time === time) return this.made
    this.time = time
    const bindings = { claims: {}, isEmailVerified: false, ownCell: () => null, time }
    // The variables of keys are times, which always have values. A right that sets one property to two times exists only while
    // the two times are equal.
    const bound = this.block.rights.map(({ right }) => bindRight(right, bindings))
    const rights = bound.flatMap((right) => (right instanceof Missing ? [] : [right]))
    const text = rights.map((right) => right.text).join('\n')
    if (this.made?.text !== text)
      this.made = new NarrowRights(text, rights, null, this.collections.entities, this.collections.views)
    return this.made
  }
}
