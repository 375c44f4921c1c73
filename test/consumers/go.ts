import { join } from 'node:path'

/** The module of the programs in Go: their generators and all that these need, in exact versions. */
export const GO_MODULE = join(import.meta.dir, 'go')

/** The first Go that gets by itself the version which go.mod names, if that is another. */
const VERSION_MIN = '1.21.0'

/** The program `go`; or why there is none. */
export type Go = { readonly go: string; readonly lack: null } | { readonly go: null; readonly lack: string }

export function findGo(): Go {
  const go = Bun.which('go')
  if (go === null) return { go, lack: 'there is no program go' }
  const { stdout } = Bun.spawnSync([go, 'env', 'GOVERSION'], { stdin: 'ignore' })
  const version = /^go(\d+\.\d+(?:\.\d+)?)/.exec(stdout.toString())?.[1] ?? '0.0.0'
  const isNewEnough = Bun.semver.order(version.split('.').length === 2 ? `${version}.0` : version, VERSION_MIN) >= 0
  return isNewEnough ? { go, lack: null } : { go: null, lack: `the generators need Go ${VERSION_MIN} or later, not ${version}` }
}
