import { join } from 'node:path'

/** Module of the programs in Go: their generators and all dependencies, in exact versions. */
export const GO_MODULE = join(import.meta.dir, 'go')

/** Least version of Go that downloads the version in go.mod. */
const VERSION_MIN = '1.21.0'

/** The program `go`, or why it is missing. */
export type Go = { readonly go: string; readonly lack: null } | { readonly go: null; readonly lack: string }

export function findGo(): Go {
  const go = Bun.which('go')
  if (go === null) return { go, lack: 'there is no program go' }
  const { stdout } = Bun.spawnSync([go, 'env', 'GOVERSION'], { stdin: 'ignore' })
  const version = /^go(\d+\.\d+(?:\.\d+)?)/.exec(stdout.toString())?.[1] ?? '0.0.0'
  const isNewEnough = Bun.semver.order(version.split('.').length === 2 ? `${version}.0` : version, VERSION_MIN) >= 0
  return isNewEnough ? { go, lack: null } : { go: null, lack: `the generators need Go ${VERSION_MIN} or later, not ${version}` }
}
