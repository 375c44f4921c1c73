import { type Setting, settings } from './settings.ts'

/** As `--help` shows them: this wide. */
const WIDTH = 100
const INDENT = '      '

const all: [name: string, setting: Setting][] = Object.entries(settings)

/** The settings that most operators set; the README has them. */
const MAIN = /^(DATABASE_URL|DATA_DIR|HOST|PORT|WORKERS|PUBLIC_URL|BOOTSTRAP_API_KEY|RATE_LIMITS|TRUSTED_PROXIES|ADMIN_PORT)$/

/** A table in Markdown, of all settings or of the main ones. */
export function settingsTable(isMain = false): string {
  const shownOnes = isMain ? all.filter(([name]) => MAIN.test(name)) : all
  const rows = shownOnes.map(([name, { default: fallback, meaning }]) => {
    const shown = fallback === null ? '' : `\`${fallback}\``
    return `| \`${name}\` | ${shown} | ${meaning.replaceAll('|', '\\|')} |`
  })
  return ['| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

/** The file `.env.example`. */
export function environmentExample(): string {
  const blocks = all.map(([name, { default: fallback, meaning }]) => `# ${meaning}\n# ${name}=${fallback ?? ''}\n`)
  return ['# Copy to .env and take the # from what you set.\n', ...blocks].join('\n')
}

export function settingsHelp(): string {
  const blocks = all.map(([name, { default: fallback, meaning }]) => {
    const head = fallback === null ? `  ${name}` : `  ${name} (default: ${fallback})`
    return [head, ...wrap(meaning)].join('\n')
  })
  return ['Settings, as environment variables or lines of a .env file:', ...blocks].join('\n')
}

function wrap(text: string): string[] {
  const lines: string[] = []
  let line = INDENT
  for (const word of text.split(' ')) {
    if (line !== INDENT && line.length + word.length >= WIDTH) {
      lines.push(line.trimEnd())
      line = INDENT
    }
    line += `${word} `
  }
  return [...lines, line.trimEnd()]
}
