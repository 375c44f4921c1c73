// The rights of keys that follow a block of the roles file.
import type { Right } from '../model/access.ts'
import { isOpen } from '../rights/openFilter.ts'
import { NarrowRights } from '../rights/reader.ts'
import { Missing } from './binding.ts'
import { bindRight } from './bindRight.ts'
import type { KeyBlock } from './file.ts'
import { type Moment, momentOf } from './moment.ts'
import type { Collections } from './personRights.ts'

export class KeyRights {
  private moment: Moment | null = null
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
    const moment = momentOf(this.usesTime ? Date.now() : 0)
    if (this.made && this.moment === moment) return this.made
    this.moment = moment
    const rights = this.block.rights.map(({ right }) => this.bind(right, moment))
    const text = rights.map((right) => right.text).join('\n')
    if (this.made?.text !== text)
      this.made = new NarrowRights(text, rights, null, this.collections.entities, this.collections.views)
    return this.made
  }

  /** Binds the only variables of a key, which always have values. */
  private bind(right: Right, moment: Moment): Right {
    const bound = bindRight(right, { claims: {}, isEmailVerified: false, ownCell: () => null, moment })
    if (bound instanceof Missing) throw new Error(`a right of a key is not bound: ${bound.reason}`)
    return bound
  }
}
