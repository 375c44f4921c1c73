import { packedScript } from './packedScript.ts'
import vendored from './vendor/scalar.json'

/** The name has the version, so what it names never changes. */
export const SCALAR_FILE = `scalar-${vendored.version}.js`

/** The script of Scalar's API reference, as it lies in `vendor/`. */
export const scalarReply = packedScript(`${SCALAR_FILE}.gz`)
