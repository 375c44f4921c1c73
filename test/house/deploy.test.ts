import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { engines } from '../../package.json'
import { type Config, readConfig } from '../../src/config/config.ts'
import { secretFileNames } from '../../src/config/secretFiles.ts'
import { settings } from '../../src/config/settings.ts'

// What CI cannot run, since it has no Docker and no Kubernetes, held against what the server is and takes.

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
// biome-ignore lint/suspicious/noExplicitAny: whatever stands in the files
type Yaml = any

const dockerfile = read('Dockerfile')
const compose: Yaml = Bun.YAML.parse(read('compose.yaml'))
const manifests = (Bun.YAML.parse(read('deploy/kubernetes.yaml')) as Yaml[]).flat()
const ofKind = (kind: string): Yaml => manifests.find((manifest) => manifest.kind === kind)
const pod = ofKind('Deployment').spec.template.spec
const [container] = pod.containers

/** What `ENV` says. */
const imageEnvironment = Object.fromEntries(
  [...(/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
) as Record<string, string>
const podEnvironment = Object.fromEntries(container.env.map(({ name, value }: Yaml) => [name, value])) as Record<string, string>

/** The settings with which a server runs there. @throws ConfigError */
function configOf(own: Record<string, string>): Config {
  const { NODE_ENV: _, ...environment } = { ...imageEnvironment, ...own }
  for (const name of Object.keys(environment))
    expect([...Object.keys(settings), ...secretFileNames], `${name} is a setting`).toContain(name)
  return readConfig(
    Object.fromEntries(
      Object.entries(environment).map(([name, value]) =>
        name.endsWith('_FILE') && secretFileNames.includes(name)
          ? [name.slice(0, -'_FILE'.length), name.startsWith('DATABASE') ? 'postgres://db/hr' : 'redis://store']
          : [name, value.replace(/\$\{\w+:\?[^}]*\}/, 'secret')],
      ),
    ),
  )
}

describe('the image', () => {
  test('copies existing files, and has a Node that the launcher accepts, a user, an address and a data folder', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '))
    expect(copied).toEqual(expect.arrayContaining(['package.json', 'package-lock.json', 'src', 'sql']))
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    const letIn = read('.dockerignore').split('\n')
    expect(copied.filter((path) => !letIn.includes(`!${path}`))).toEqual([])
    for (const [, major] of dockerfile.matchAll(/^FROM node:(\d+)-/gm))
      expect(Number(major)).toBeGreaterThanOrEqual(Number(engines.node.replace('>=', '')))
    expect(dockerfile).toMatch(/^USER node$/m)
    expect(dockerfile).toContain('npm ci --omit=dev --ignore-scripts')
    const { host, port, dataDir, logFormat } = configOf({})
    expect([host, port, logFormat]).toEqual(['0.0.0.0', Number(/^EXPOSE (\d+)$/m.exec(dockerfile)?.[1]), 'json'])
    expect(dockerfile).toContain(`install -d -o node -g node -m 700 ${dataDir}`)
  })
})

describe('the services of compose.yaml', () => {
  const { roster, database, valkey } = compose.services

  test('have settings that the server accepts, and publish the port on which it listens', () => {
    const config = configOf(roster.environment)
    expect(new URL(config.databaseUrl as string).hostname).toBe('database')
    expect(new URL(config.rateLimitStore as string).hostname).toBe('valkey')
    expect(roster.ports).toEqual([`127.0.0.1:${config.port}:${config.port}`])
    expect(roster.tmpfs.join(' ')).toContain(config.dataDir)
    // The role that is made at the first start: its owner, and no superuser.
    const { username, pathname } = new URL(config.databaseUrl as string)
    const { content } = compose.configs.role
    expect(content).toContain(`create role ${username} login password`)
    expect(content).toContain(`create database ${pathname.slice(1)} owner ${username} `)
    expect(database.configs).toEqual([{ source: 'role', target: '/docker-entrypoint-initdb.d/role.sh' }])
    expect(Object.keys(roster.depends_on)).toEqual(['database', 'valkey'])
    for (const service of [database, valkey]) expect(service.healthcheck.test[0]).toBe('CMD')
    // Room for the counts of the limits, and time for a stop.
    expect(Number.parseInt(roster.shm_size, 10)).toBeGreaterThanOrEqual(64)
    expect(Number.parseInt(roster.stop_grace_period, 10)).toBeGreaterThanOrEqual(stopSeconds())
  })
})

/** How long systemd lets the server stop. */
function stopSeconds(): number {
  return Number(/^TimeoutStopSec=(\d+)$/m.exec(read('deploy/roster.service'))?.[1])
}

describe('the manifests for Kubernetes', () => {
  test('have settings that the server accepts, and mount secrets at the paths that the settings name', () => {
    const config = configOf(podEnvironment)
    const ports = Object.fromEntries(container.ports.map(({ name, containerPort }: Yaml) => [name, containerPort]))
    expect(ports).toEqual({ http: config.port, admin: config.adminPort as number })
    expect([config.host, config.adminHost]).toEqual(['0.0.0.0', '0.0.0.0'])
    const mounts = container.volumeMounts.map(({ mountPath }: Yaml) => mountPath)
    expect(mounts).toEqual(expect.arrayContaining([config.dataDir, '/tmp', '/dev/shm']))
    for (const [name, file] of Object.entries(podEnvironment))
      if (name.endsWith('_FILE')) expect(file).toStartWith('/run/secrets/roster/')
    expect(pod.volumes.map(({ name }: Yaml) => name).sort()).toEqual(container.volumeMounts.map(({ name }: Yaml) => name).sort())
    expect(container.image.split(':')[0]).toBe('roster')
  })

  test('have the probes /livez and /readyz, and give the server time to finish its requests', () => {
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect([probe, container[probe].httpGet]).toEqual([
        probe,
        { path: probe === 'readinessProbe' ? '/readyz' : '/livez', port: 'http' },
      ])
    const [program, seconds] = container.lifecycle.preStop.exec.command
    const { periodSeconds, failureThreshold } = container.readinessProbe
    expect(program).toBe('sleep')
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number(seconds) + stopSeconds())
    expect(periodSeconds * failureThreshold).toBeLessThanOrEqual(stopSeconds())
  })

  test('keep a replica serving during updates, and use the same labels everywhere', () => {
    const deployment = ofKind('Deployment').spec
    const budget = ofKind('PodDisruptionBudget').spec
    expect(deployment.replicas).toBeGreaterThan(budget.minAvailable)
    expect(deployment.strategy.rollingUpdate.maxUnavailable).toBe(0)
    const labels = deployment.template.metadata.labels
    const named = [deployment.selector.matchLabels, budget.selector.matchLabels, ofKind('Service').spec.selector]
    for (const selector of named) expect(selector).toEqual(labels)
    expect(ofKind('Service').spec.ports.map(({ targetPort }: Yaml) => targetPort)).toEqual(['http'])
    expect([pod.securityContext.runAsNonRoot, container.securityContext.readOnlyRootFilesystem]).toEqual([true, true])
  })
})
