// DATABASE_URL: splits it into address and query parameters, and refuses parameters that would make responses wrong.

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']
const SESSIONS = ['read-write', 'read-only', 'primary', 'standby', 'prefer-standby']
const oneOf = (values: readonly string[]) => ({ allows: (value: string) => values.includes(value), allowed: values.join(', ') })

/**
 * Allowed query parameters, their values, and the driver's options for them. Any other parameter is refused: the driver would
 * pass it on as a setting of the session, such as the time zone or a time limit. Roster's own settings take precedence over
 * settings in the parameter `options`.
 */
const PARAMETERS: Record<string, { allows(value: string): boolean; allowed: string; option?: string }> = {
  sslmode: { ...oneOf(SSL_MODES), option: 'ssl' },
  ssl: { ...oneOf(['true', 'false', ...SSL_MODES]), option: 'ssl' },
  sslrootcert: { allows: (value) => value === 'system' || /^\/./.test(value), allowed: 'system, or the whole path of a file' },
  sslnegotiation: { ...oneOf(['postgres', 'direct']), option: 'sslnegotiation' },
  connect_timeout: { allows: (value) => /^[1-9]\d?$/.test(value), allowed: 'seconds from 1 to 99', option: 'connect_timeout' },
  target_session_attrs: { ...oneOf(SESSIONS), option: 'target_session_attrs' },
  // Triggers of the tables read settings whose names begin with `roster.`, such as `roster.key`, the API key of a write. The URL
  // must not set them.
  options: { allows: (value) => !/roster\./i.test(value), allowed: 'settings of PostgreSQL, none of Roster' },
  search_path: { allows: () => true, allowed: 'schemas' },
}

/** Parses DATABASE_URL. @throws RangeError that names the fault, without any value of the URL */
export function readDatabaseUrl(text: string) {
  /** The URL without its query: the driver would prefer parameters of the query to the server's settings. */
  const address = text.replace(/[?#].*$/s, '')
  const hosts = hostsOf(address)
  /** Options of the driver. */
  const options: Record<string, string | number | false> = {}
  /** Settings of each connection. */
  const connection: Record<string, string> = {}
  const faults: string[] = []
  /** File of the certificate authorities to trust instead of the system's. */
  let authoritiesFile: string | undefined
  /** True for `sslrootcert=system`: the system's certificate authorities are trusted. */
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
  // With a file of authorities, every mode checks the certificate. With the system's authorities, a mode such as `require` would
  // not check it, so `verify-full` replaces the mode.
  if (isSystem && options.ssl !== false) options.ssl = 'verify-full'
  return { address, hosts, options, connection, authoritiesFile }
}

function optionOf(value: string): string | number | false {
  return value === 'disable' || value === 'false' ? false : /^\d+$/.test(value) ? Number(value) : value
}

/** Returns the hosts of an address, IPv6 without brackets. @throws RangeError if the first host is invalid */
function hostsOf(address: string): { host: string; port: number }[] {
  const [, list = ''] = /:\/\/(?:[^/]*@)?([^/]*)/.exec(address) ?? []
  const hosts = list.split(',')
  if (!URL.canParse(address.replace(list, hosts[0] ?? ''))) throw new RangeError('it cannot be read')
  return hosts.map((text) => {
    const [, host = '', port] = /^(.*?)(?::(\d*))?$/.exec(text) ?? []
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port || 5_432) }
  })
}

/**
 * Returns the name of a parameter for messages. Returns the word `one` for a text that does not look like a name, because it may
 * be the end of a password that contains a question mark.
 */
function nameOf(name: string): string {
  return /^[a-z_.]{1,40}$/i.test(name) ? name : 'one'
}
