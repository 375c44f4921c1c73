// DATABASE_URL: splits it into address and query parameters, and refuses parameters with which the server would answer wrongly.

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']
const SESSIONS = ['read-write', 'read-only', 'primary', 'standby', 'prefer-standby']
const oneOf = (values: readonly string[]) => ({ allows: (value: string) => values.includes(value), allowed: values.join(', ') })

/**
 * Parameters, their values, and the options of the driver for them. Any other is refused: the driver would pass it on as a
 * setting of the database, such as another time zone, time limit or name of the connections. Of settings in `options`, ours win.
 */
const PARAMETERS: Record<string, { allows(value: string): boolean; allowed: string; option?: string }> = {
  sslmode: { ...oneOf(SSL_MODES), option: 'ssl' },
  ssl: { ...oneOf(['true', 'false', ...SSL_MODES]), option: 'ssl' },
  sslrootcert: { allows: (value) => value === 'system' || /^\/./.test(value), allowed: 'system, or the whole path of a file' },
  sslnegotiation: { ...oneOf(['postgres', 'direct']), option: 'sslnegotiation' },
  connect_timeout: { allows: (value) => /^[1-9]\d?$/.test(value), allowed: 'seconds from 1 to 99', option: 'connect_timeout' },
  target_session_attrs: { ...oneOf(SESSIONS), option: 'target_session_attrs' },
  // With a setting of ours among them, other servers would take this one's writes for their own.
  options: { allows: (value) => !/roster\./i.test(value), allowed: 'settings of PostgreSQL, none of Roster' },
  search_path: { allows: () => true, allowed: 'schemas' },
}

/** Takes the text of DATABASE_URL apart. @throws RangeError that names what is wrong, and repeats no value */
export function readDatabaseUrl(text: string) {
  /** Without query parameters: the driver would let them win over settings of ours. */
  const address = text.replace(/[?#].*$/s, '')
  const hosts = hostsOf(address)
  /** For the driver. */
  const options: Record<string, string | number | false> = {}
  /** For the database, at the start of each connection. */
  const connection: Record<string, string> = {}
  const faults: string[] = []
  /** The certificates that vouch for the database, beside none of the system's. */
  let authoritiesFile: string | undefined
  /** True for `sslrootcert=system`: the certificate authorities of the system are trusted. */
  let isSystem = false
  for (const [name, value] of new URLSearchParams(text.slice(address.length).replace(/#.*$/s, ''))) {
    const parameter = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined
    if (!parameter) faults.push(`${nameOf(name)} is not among ${Object.keys(PARAMETERS).join(', ')}`)
    else if (!parameter.allows(value)) faults.push(`${name} has a value that cannot be used: allowed is ${parameter.allowed}`)
    else if (name === 'sslrootcert') {
      options.ssl ??= 'verify-full'
      if (value === 'system') isSystem = true
      else authoritiesFile = value
    } else if (parameter.option) options[parameter.option] = optionOf(value)
    else connection[name] = value
  }
  if (faults.length > 0) throw new RangeError(`of its parameters ${faults.join('; ')}`)
  // `sslmode=require` would encrypt without a check of the certificate; with a file, connections are checked in any mode.
  if (isSystem && options.ssl !== false) options.ssl = 'verify-full'
  return { address, hosts, options, connection, authoritiesFile }
}

function optionOf(value: string): string | number | false {
  return value === 'disable' || value === 'false' ? false : /^\d+$/.test(value) ? Number(value) : value
}

/** The hosts of an address, without the brackets of IPv6. @throws RangeError where the first one makes no address */
function hostsOf(address: string): { host: string; port: number }[] {
  const [, list = ''] = /:\/\/(?:[^/]*@)?([^/]*)/.exec(address) ?? []
  const hosts = list.split(',')
  if (!URL.canParse(address.replace(list, hosts[0] ?? ''))) throw new RangeError('it cannot be read')
  return hosts.map((text) => {
    const [, host = '', port] = /^(.*?)(?::(\d*))?$/.exec(text) ?? []
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port || 5_432) }
  })
}

/** A password with a question mark in it would look like the name of a parameter. */
function nameOf(name: string): string {
  return /^[a-z_.]{1,40}$/i.test(name) ? name : 'one'
}
