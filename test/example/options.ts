// What one can choose about the example.
import { once } from 'node:events'
import { createServer } from 'node:net'

/** The example cannot start: its message is enough to mend it. */
export class ExampleError extends Error {}

export interface Options {
  /** True: what an earlier start has left is deleted. */
  readonly isFresh: boolean
  readonly folder: string
  readonly port: number
  readonly providerPort: number
  /** Lifetime of tokens, in seconds. */
  readonly tokenS: number
}

export const HOST = '127.0.0.1'
const PORT_MAX = 65_535
const TOKEN_S_MAX = 86_400
const NUMBERS = {
  PORT: { default: 3000, max: PORT_MAX },
  PROVIDER_PORT: { default: 4000, max: PORT_MAX },
  TOKEN_SECONDS: { default: 300, max: TOKEN_S_MAX },
} as const

const USAGE = `npm run example              starts the example, with its data as you have left it
npm run example -- --fresh   deletes its data, and begins anew

PORT           port of the server, by default ${NUMBERS.PORT.default}
PROVIDER_PORT  port of the sign-in, by default ${NUMBERS.PROVIDER_PORT.default}
TOKEN_SECONDS  how long a sign-in is valid before the page renews it, by default ${NUMBERS.TOKEN_SECONDS.default}
EXAMPLE_DIR    folder of the data, by default .data/example`

/** Reads the words and variables of the command. @throws ExampleError that says what is allowed */
export function readOptions(words: readonly string[], env: Readonly<Record<string, string | undefined>>): Options {
  const unknown = words.find((word) => word !== '--fresh')
  if (unknown !== undefined) throw new ExampleError(`there is no option "${unknown}", only --fresh:\n${USAGE}`)
  const options = {
    isFresh: words.includes('--fresh'),
    folder: env.EXAMPLE_DIR || '.data/example',
    port: readNumber(env, 'PORT'),
    providerPort: readNumber(env, 'PROVIDER_PORT'),
    tokenS: readNumber(env, 'TOKEN_SECONDS'),
  }
  if (options.port === options.providerPort)
    throw new ExampleError(`PORT and PROVIDER_PORT are both ${options.port}: choose another one for one of them`)
  return options
}

function readNumber(env: Readonly<Record<string, string | undefined>>, name: keyof typeof NUMBERS): number {
  const { default: fallback, max } = NUMBERS[name]
  const text = env[name] || String(fallback)
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < 1 || number > max)
    throw new ExampleError(`${name} must be an integer from 1 to ${max}, and is "${text.slice(0, 100)}"`)
  return number
}

/** Checks that both ports are free. @throws ExampleError that says how to choose another one */
export async function requireFreePorts({ port, providerPort }: Options): Promise<void> {
  await requireFree('PORT', port)
  await requireFree('PROVIDER_PORT', providerPort)
}

async function requireFree(name: string, port: number): Promise<void> {
  try {
    const probe = createServer().listen(port, HOST)
    await once(probe, 'listening')
    await once(probe.close(), 'close')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE') throw new ExampleError(`cannot listen on ${HOST}:${port}: ${message}`)
    const another = port < PORT_MAX ? port + 1 : port - 1
    throw new ExampleError(
      `port ${port} is taken by another program: stop it, or choose another port: ${name}=${another} npm run example`,
    )
  }
}
