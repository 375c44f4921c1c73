// The rights of keys that follow a block of the roles file.
import type { Right } from '../model/access.ts'
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

  /** Returns the rights as of now: the same object while their text is the same. */
  now(): NarrowRights {
    const time = this.usesTime ? requestTime() : ANY_TIME
    if (this.made && this.time === time) return this.made
    this.time = time
    const rights = this.block.rights.map(({ right }) => this.bind(right, time))
    const text = rights.map((right) => right.text).join('\n')
    if (this.made?.text !== text)
      this.made = new NarrowRights(text, rights, null, this.collections.entities, this.collections.views)
    return this.made
  }

  /** Binds the only variables of a key, which always have values. */
  private bind(right: Right, time: RequestTime): Right {
    const bound = bindRight(right, { claims: {}, isEmailVerified: false, ownCell: () => null, time })
    if (bound instanceof Missing) throw new Error(`a right of a key is not bound: ${bound.reason}`)
    return bound
  }
}
