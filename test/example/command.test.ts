import { afterEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { askAs, EXAMPLE, processesOf, startExample, Visitor } from '../support/example.ts'
import { endPrograms, freePort, isAlive, run, temporaryFolder, until } from '../support/process.ts'

describe('the command of the example', () => {
  afterEach(endPrograms)

  test('leaves no process after Ctrl+C, keeps its data for the next start, and deletes it with --fresh', async () => {
    const { path } = temporaryFolder()
    const first = await startExample(path)
    const bo = await new Visitor(first).signIn('bo')
    const total = (await askAs(bo, first, 'GET', '/Absences')).total
    const leave = { Type: 'Holiday', Reason: 'Kept', Start: '2031-03-03T08:00:00Z', End: '2031-03-04T16:00:00Z' }
    await askAs(bo, first, 'POST', '/Absences', leave)
    const processes = processesOf(first)
    first.program.killGroup('SIGINT')
    expect(await first.program.ended).toBe(0)
    expect(processes.filter(isAlive)).toEqual([])
    await expect(fetch(first.provider)).rejects.toThrow()

    const second = await startExample(path)
    expect((await askAs(await new Visitor(second).signIn('bo'), second, 'GET', '/Absences')).total).toBe(total + 1)
    await second.program.stop()

    const third = await startExample(path, ['--fresh'])
    expect((await askAs(await new Visitor(third).signIn('bo'), third, 'GET', '/Absences')).total).toBe(total)
    await third.program.stop()
  })

  test('leaves no process when it is killed, and ignores HTTP_PROXY', async () => {
    const proxy = `http://127.0.0.1:${freePort()}`
    const example = await startExample(temporaryFolder().path, [], { HTTP_PROXY: proxy, http_proxy: proxy })
    const processes = processesOf(example)
    example.program.kill('SIGKILL')
    await until(() => !processes.some(isAlive))
    await until(() =>
      fetch(example.provider).then(
        () => false,
        () => true,
      ),
    )
  })

  test('starts again from the beginning after a start that was interrupted', async () => {
    const { path } = temporaryFolder()
    const [PORT, PROVIDER_PORT] = [String(freePort()), String(freePort())]
    const interrupted = run(EXAMPLE, { PORT, PROVIDER_PORT, EXAMPLE_DIR: path })
    await interrupted.waitFor(/Starting/)
    await until(() => existsSync(join(path, 'postgres')))
    await interrupted.stop()
    const example = await startExample(path)
    expect((await askAs(await new Visitor(example).signIn('noor'), example, 'GET', '/Employees')).total).toBe(12)
  })

  test('names the setting to change if a port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    const { port } = await new Promise<{ port: number }>((done) =>
      taken.once('listening', () => done(taken.address() as { port: number })),
    )
    for (const name of ['PORT', 'PROVIDER_PORT']) {
      const program = run(EXAMPLE, { PORT: String(freePort()), EXAMPLE_DIR: temporaryFolder().path, [name]: String(port) })
      expect(await program.ended).toBe(1)
      expect(program.output()).toContain(`port ${port} is taken by another program`)
      expect(program.output()).toContain(`${name}=${port + 1} npm run example`)
    }
    taken.close()
  })

  test('deletes no folder that has files of others, even with --fresh', async () => {
    const { path } = temporaryFolder()
    mkdirSync(join(path, 'mine'))
    const settings = { PORT: String(freePort()), PROVIDER_PORT: String(freePort()), EXAMPLE_DIR: path }
    const program = run([...EXAMPLE, '--fresh'], settings)
    expect(await program.ended).toBe(1)
    expect(program.output()).toContain('has files that are not of the example')
    expect(existsSync(join(path, 'mine'))).toBe(true)
  })

  test.each([
    [['--frehs'], {}, 'there is no option "--frehs", only --fresh'],
    [[], { PORT: 'http' }, 'PORT must be an integer from 1 to 65535, and is "http"'],
    [[], { TOKEN_SECONDS: '0' }, 'TOKEN_SECONDS must be an integer from 1 to 86400, and is "0"'],
    [[], { PORT: '4000' }, 'PORT and PROVIDER_PORT are both 4000'],
  ])('refuses the options %j with the settings %j', async (words, settings, message) => {
    const program = run([...EXAMPLE, ...words], settings as Record<string, string>)
    expect(await program.ended).toBe(1)
    expect(program.output()).toContain(message)
  })

  test('refuses to run twice with the same data, and does not touch the data', async () => {
    const example = await startExample(temporaryFolder().path)
    const settings = { PORT: String(freePort()), PROVIDER_PORT: String(freePort()), EXAMPLE_DIR: example.folder }
    const second = run([...EXAMPLE, '--fresh'], settings)
    expect(await second.ended).toBe(1)
    expect(second.output()).toContain('the example runs already')
    expect((await askAs(await new Visitor(example).signIn('noor'), example, 'GET', '/Companies')).total).toBe(3)
  })
})
