// Findings about the machine: versions, folders, ports, certificates.
import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { dependencies, version } from '../../package.json'
import { anonymousClients, PERSONS_MAX } from '../admit/limiterFiles.ts'
import { wordsFor } from '../admit/window.ts'
import { counted } from '../cli/output.ts'
import type { Config } from '../config/config.ts'
import { errorOf } from '../errors.ts'
import { LOOPBACK } from '../model/networks.ts'
import { checkCertificate, readCertificate } from '../os/certificate.ts'
import { countEnded, deleteEnded } from '../os/endedServers.ts'
import { lockPort, memoryFolderOf, withStartLock } from '../os/folder.ts'
import { takePort } from '../processes/startError.ts'
import { advice, type Finding, fault, ok } from './finding.ts'

const MIB = 2 ** 20
/** Minimum free disk space for DATA_DIR; with less, an embedded database soon refuses writes. */
const DISK_BYTES_MIN = 200 * MIB
/**
 * Maximum bytes of shared memory that ended servers may keep before advice is given. Each start of a server frees the empty pages
 * of this memory. The pages that remain usually have fewer bytes.
 */
const ENDED_BYTES_MAX = 8 * MIB
/**
 * Remaining validity of a certificate below which its renewal is advised: 14 days. Programs that renew certificates of 90 days do
 * so 30 days before the end.
 */
const RENEWAL_MS = 14 * 86_400_000

/** Examines this machine, without the database. `isCleaning`: also deletes the shared memory that ended servers have left. */
export async function examineMachine(config: Config, isCleaning: boolean): Promise<Finding[]> {
  const { adminHost, adminPort } = config
  const ports = [await port('port', config)]
  if (adminPort !== null) ports.push(await port('admin port', { host: adminHost, port: adminPort, setting: 'ADMIN_PORT' }))
  const encryption = config.tlsCert === null ? publicUrl(config) : tls(config)
  return [versions(), dataFolder(config), sharedMemory(config), endedServers(config, isCleaning), ...ports, encryption]
}

function versions(): Finding {
  const pinned = dependencies.bun
  const text = `Roster ${version} on Bun ${Bun.version}, ${process.platform} ${process.arch}`
  if (Bun.version === pinned) return ok('versions', text)
  return fault('versions', `${text}, and not on Bun ${pinned}: start it by npm start or node src/launch.mjs`)
}

function dataFolder({ dataDir, databaseUrl }: Config): Finding {
  const path = resolve(dataDir)
  const there = firstThere(path)
  try {
    if (!statSync(there).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' })
    accessSync(there, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const say = databaseUrl === null ? fault : advice
    return say('data folder', `DATA_DIR ${path} cannot be used (${code}): set another, or let this user write there`)
  }
  const room = roomAt(there)
  const text = `${path}, ${Math.floor(room / MIB)} MiB free`
  return room < DISK_BYTES_MIN ? advice('data folder', `${text}: make room`) : ok('data folder', text)
}

function sharedMemory(config: Config): Finding {
  const { dataDir, port, rateLimits, rateLimitsAnonymous, rateLimitsPersons, rateLimitClients, oidcIssuer } = config
  const limits = wordsFor(rateLimitClients, rateLimits)
  const addresses = wordsFor(anonymousClients(rateLimitsAnonymous), rateLimitsAnonymous)
  const persons = oidcIssuer === null ? 0 : wordsFor(PERSONS_MAX, rateLimitsPersons)
  const bytes = 4 * (limits + addresses + persons)
  const folder = memoryFolderOf(dataDir, port)
  const room = roomAt(dirname(folder)) + bytesIn(folder)
  const text = `${Math.ceil(bytes / MIB)} MiB of ${Math.floor(room / MIB)} MiB in ${dirname(folder)}`
  if (bytes <= room) return ok('shared memory', text)
  // Without room in memory, the server keeps its tables of limits in DATA_DIR.
  const say = bytes > roomAt(dataDir) ? fault : advice
  return say(
    'shared memory',
    `${text}: make it larger (--shm-size in Docker), or set ${persons > limits ? 'RATE_LIMITS_PERSONS' : 'RATE_LIMIT_CLIENTS'} lower`,
  )
}

function endedServers({ dataDir, port }: Config, isCleaning: boolean): Finding {
  const own = memoryFolderOf(dataDir, port)
  const base = dirname(own)
  // The memory of the server with these settings is not counted: the server needs this memory again at its next start.
  const { servers, bytes } = withStartLock(() => (isCleaning ? deleteEnded(base) : countEnded(base, own)))
  const extent = `${counted(servers, 'server')} that ended, ${Math.ceil(bytes / MIB)} MiB in ${base}`
  if (servers === 0) return ok('ended servers', 'none keeps shared memory')
  if (isCleaning) return ok('ended servers', `deleted the shared memory of ${extent}: their limits begin anew`)
  if (bytes < ENDED_BYTES_MAX) return ok('ended servers', extent)
  return advice('ended servers', `${extent}: a start of any server frees most of it, and roster doctor --clean deletes it`)
}

function firstThere(path: string): string {
  return existsSync(path) ? path : firstThere(dirname(path))
}

function roomAt(folder: string): number {
  const { bavail, bsize } = statfsSync(firstThere(folder))
  return bavail * bsize
}

function bytesIn(folder: string): number {
  try {
    return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  } catch {
    return 0
  }
}

async function port(check: string, at: Parameters<typeof takePort>[0]): Promise<Finding> {
  const text = `${at.port} on ${at.host}`
  if (at.port === 0) return ok(check, 'any free one')
  const lock = lockPort(at.host, at.port)
  if (lock === null) return ok(check, `${text}, on which a server of this user runs`)
  lock.release()
  try {
    await takePort(at).then((release) => release())
    return ok(check, `${text} is free`)
  } catch (error) {
    return fault(check, errorOf(error).message)
  }
}

function publicUrl({ publicUrl: url, host, trustedProxies }: Config): Finding {
  if (url?.startsWith('http://') && !LOOPBACK.test(new URL(url).hostname))
    return advice('tls', 'PUBLIC_URL is http: keys travel in clear text; put a proxy with TLS in front')
  if (url === null && !LOOPBACK.test(host) && trustedProxies === null)
    return advice('tls', `HOST ${host} is open to other machines, in clear text: put a proxy with TLS in front`)
  return ok('tls', url?.startsWith('https://') ? 'PUBLIC_URL is https' : 'clients are of this machine')
}

function tls({ tlsCert, tlsKey, publicUrl: url, trustedProxies }: Config): Finding {
  try {
    const certificate = checkCertificate(readCertificate(tlsCert as string, tlsKey as string))
    const end = new Date(certificate.validTo)
    const leftMs = end.getTime() - Date.now()
    const names = certificate.subjectAltName ?? certificate.subject
    const text = `the certificate for ${names} is valid until ${end.toISOString()}`
    if (leftMs < 0) return fault('tls', `${text}: clients refuse it; renew it`)
    const host = url === null ? null : new URL(url).hostname.replace(/^\[|\]$/g, '')
    if (host !== null && (isIP(host) ? !certificate.checkIP(host) : !certificate.checkHost(host)))
      return (trustedProxies === null ? fault : advice)(
        'tls',
        `${text}, and not for ${host} of PUBLIC_URL: clients refuse it, where no proxy has one of its own`,
      )
    return leftMs < RENEWAL_MS ? advice('tls', `${text}: see that it is renewed`) : ok('tls', text)
  } catch (error) {
    return fault('tls', `${errorOf(error).message}: no server starts`)
  }
}
