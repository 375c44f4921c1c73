// D72 in TypeScript, character by character: the oracle of what texts [begins] and [contains] compare.

function isAccent(character: string): boolean {
  const code = character.codePointAt(0) as number
  return code >= 0x300 && code <= 0x36f
}

/** The text as `[begins]` and `[contains]` compare it. */
export function foldedText(text: string): string {
  let folded = ''
  for (const character of text.normalize('NFD')) {
    const lower = isAccent(character) ? '' : character.toLowerCase()
    folded += lower === 'ς' ? 'σ' : lower
  }
  return folded.normalize('NFC')
}
