// D72 in TypeScript, character by character: the oracle of texts as [begins] and [contains] compare them.

/** Letters without a decomposition, and how they are typed. */
const TYPED: Readonly<Record<string, string>> = {
  ...{
    ß: 'ss',
    æ: 'ae',
    œ: 'oe',
    þ: 'th',
    ð: 'd',
    ø: 'o',
    đ: 'd',
    ħ: 'h',
    ı: 'i',
    ĸ: 'q',
    ł: 'l',
    ŀ: 'l',
    ŉ: 'n',
    ŋ: 'n',
    ŧ: 't',
  },
  ...{
    ſ: 's',
    ĳ: 'ij',
    ǆ: 'dz',
    ǳ: 'dz',
    ǉ: 'lj',
    ǌ: 'nj',
    ﬀ: 'ff',
    ﬁ: 'fi',
    ﬂ: 'fl',
    ﬃ: 'ffi',
    ﬄ: 'ffl',
    ﬅ: 'st',
    ﬆ: 'st',
    ς: 'σ',
  },
}

function isAccent(character: string): boolean {
  const code = character.codePointAt(0) as number
  return code >= 0x300 && code <= 0x36f
}

/** Returns a text as `[begins]` and `[contains]` compare it. */
export function foldedText(text: string): string {
  let folded = ''
  for (const character of text.normalize('NFD')) {
    const lower = isAccent(character) ? '' : character.toLowerCase()
    folded += TYPED[lower] ?? lower
  }
  // Catalan's l·l.
  return folded.replaceAll('l·', 'l').normalize('NFC')
}
