import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasOpenssl, makeCertificate } from './certificate.ts'
import { freePort, untilListening } from './process.ts'

export interface RunningNginx {
  readonly port: number
  /** The certificate that it shows, which signs itself. */
  readonly certificate: string
  /** Also removes its folder. */
  stop(): Promise<void>
}

/** Debian's package puts it beside the path of ordinary users. */
const PROGRAM = Bun.which('nginx') ?? Bun.which('nginx', { PATH: '/usr/sbin' })

/** Whether the machine has an `nginx`, and an `openssl` to make it a certificate. */
export const hasNginx = PROGRAM !== null && hasOpenssl

/**
 * An nginx of one's own with the configuration that docs/operations.md shows, but for its ports, the files of its certificate
 * and the servers, whose ports are `upstreamPorts`.
 */
export async function startNginx(...upstreamPorts: readonly number[]): Promise<RunningNginx> {
  const folder = mkdtempSync(join(tmpdir(), 'roster-nginx-'))
  const port = freePort()
  const { certificate, key } = makeCertificate('DNS:localhost,IP:127.0.0.1', folder)
  const site = replaced(shownConfiguration(), {
    'server 127.0.0.1:3000 max_fails=0;': upstreamPorts.map((own) => `server 127.0.0.1:${own} max_fails=0;`).join(' '),
    'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
    'api.example.com;': 'localhost;',
    '/etc/ssl/api.example.com.pem': certificate,
    '/etc/ssl/api.example.com.key': key,
  })
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = temporary.map((name) => `${name}_temp_path ${join(folder, name)};`).join('\n')
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off;\nworker_processes 1;\npid ${join(folder, 'pid')};\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${paths}\n${site}\n}\n`,
  )
  const options = ['-p', folder, '-c', file, ...(process.getuid?.() === 0 ? ['-g', 'user root;'] : [])]
  const server = Bun.spawn([PROGRAM as string, ...options], { stdout: 'ignore', stderr: 'inherit' })
  await untilListening(port, server)
  return {
    port,
    certificate: readFileSync(certificate, 'utf8'),
    stop: async () => {
      server.kill('SIGTERM')
      await server.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The block of the page, without its first comments. */
function shownConfiguration(): string {
  const page = readFileSync(join(import.meta.dir, '../../docs/operations.md'), 'utf8')
  const [, block] = /^```nginx\n(.*?)^```$/ms.exec(page) ?? []
  if (!block) throw new Error('docs/operations.md has no configuration of nginx')
  return block
}

function replaced(text: string, pairs: Record<string, string>): string {
  return Object.entries(pairs).reduce((changed, [old, now]) => {
    if (!changed.includes(old)) throw new Error(`the configuration has no ${old}`)
    return changed.replace(old, now)
  }, text)
}
