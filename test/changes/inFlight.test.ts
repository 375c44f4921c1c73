import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { FlagReader, FlagWriter, tableBit, type WriteFlag } from '../../src/changes/inFlight.ts'
import { changeLogWords, FLAGS_MAX, layoutOf } from '../../src/changes/layout.ts'
import { ChangeLogWriter, clearWriter } from '../../src/changes/log.ts'
import { openRegion, type Region, RegionFile } from '../../src/os/region.ts'
import { temporaryMemory } from '../support/memory.ts'
import { privateRegion } from '../support/region.ts'

const OWN_MARKS = FLAGS_MAX - 1
const [COMPANY, EMPLOYEE, ABSENCE] = [tableBit(0), tableBit(1), tableBit(2)]

function made(writers = 2) {
  const region = privateRegion(changeLogWords(writers))
  const flags = Array.from({ length: writers }, (_, writer) => new FlagWriter(region, writer))
  return { region, reader: new FlagReader(region), flags: flags as [FlagWriter, FlagWriter, ...FlagWriter[]] }
}

const marksIn = (region: Region) => {
  const { flags, bounds } = layoutOf(region)
  return [...region.words.subarray(flags, bounds)].filter((word) => word !== 0).length
}

describe('a write in flight', () => {
  test('is seen from its beginning to its end by readers of one of its tables', () => {
    const { region, reader, flags } = made()
    const end = flags[1].begin(EMPLOYEE | ABSENCE).end
    for (const tables of [EMPLOYEE, ABSENCE, COMPANY | ABSENCE]) expect(reader.now(tables)).toHaveLength(1)
    expect(reader.now(COMPANY)).toEqual([])
    end()
    expect(reader.now(COMPANY | EMPLOYEE | ABSENCE)).toEqual([])
    expect(marksIn(region)).toBe(0)
  })

  test('is one of 63 that each have a flag of their own', () => {
    const { reader, flags } = made()
    const ends = Array.from({ length: OWN_MARKS }, () => flags[0].begin(COMPANY).end)
    const all = reader.now(COMPANY)
    expect(all).toHaveLength(OWN_MARKS)
    ends[10]?.()
    expect(reader.still(all)).toEqual(all.toSpliced(10, 1))
    for (const end of ends) end()
    expect(reader.still(all)).toEqual([])
  })

  test('beyond the 63rd shares one flag with others, of any table, until the last of them has ended', () => {
    const { region, reader, flags } = made()
    const own = Array.from({ length: OWN_MARKS }, () => flags[0].begin(COMPANY).end)
    const more = Array.from({ length: 5 }, () => flags[0].begin(COMPANY).end)
    const [shared, ...others] = reader.now(ABSENCE)
    expect(others).toEqual([])
    for (const end of own) end()
    for (const end of more.slice(1)) end()
    expect(reader.still([shared as WriteFlag])).toEqual([shared as WriteFlag])
    expect(reader.now(COMPANY)).toEqual([shared as WriteFlag])
    more[0]?.()
    expect(reader.still([shared as WriteFlag])).toEqual([])
    expect(marksIn(region)).toBe(0)
  })

  test('is behind the log until a record is appended, by whichever process', () => {
    const { region, reader, flags } = made()
    const [one, other] = [new ChangeLogWriter(region, 0), new ChangeLogWriter(region, 1)]
    one.append('before')
    for (const writer of [one, other]) {
      const end = flags[0].begin(COMPANY).end
      const now = reader.now(COMPANY)
      expect(reader.areBehindLog(now)).toBe(true)
      writer.append('meanwhile')
      expect(reader.areBehindLog(now)).toBe(false)
      const later = flags[1].begin(COMPANY).end
      expect(reader.now(COMPANY).map((flag) => reader.areBehindLog([flag]))).toEqual([false, true])
      expect(reader.areBehindLog(reader.now(COMPANY))).toBe(false)
      end()
      later()
    }
    expect(reader.areBehindLog([])).toBe(true)
  })

  test('that shares a flag counts as sent when the first of those was that share it', () => {
    const { region, reader, flags } = made()
    for (let write = 0; write < OWN_MARKS; write++) flags[0].begin(COMPANY)
    flags[0].begin(EMPLOYEE)
    new ChangeLogWriter(region, 1).append('meanwhile')
    flags[0].begin(EMPLOYEE)
    expect(reader.areBehindLog(reader.now(EMPLOYEE))).toBe(false)
  })

  test('does not look as if it went on because another has begun in its place', () => {
    const { reader, flags } = made()
    flags[0].begin(COMPANY).end()
    for (let turn = 0; turn < 1_000; turn++) {
      const end = flags[0].begin(COMPANY).end
      const before = reader.now(COMPANY)
      end()
      const next = flags[0].begin(COMPANY).end
      expect(reader.still(before)).toEqual([])
      expect(reader.now(COMPANY)).toHaveLength(1)
      next()
    }
  })

  test('of a process that has ended is no more, and those of others go on', () => {
    const { region, reader, flags } = made()
    for (let write = 0; write < OWN_MARKS + 5; write++) flags[0].begin(COMPANY)
    const end = flags[1].begin(COMPANY).end
    clearWriter(region, 0)
    expect(reader.now(COMPANY)).toHaveLength(1)
    end()
    expect(marksIn(region)).toBe(0)
  })
})

test('tables beyond the fifteenth share bits, and none is without one', () => {
  const { reader, flags } = made()
  for (let table = 0; table < 40; table++) {
    const end = flags[0].begin(tableBit(table)).end
    expect(reader.now(tableBit(table))).toHaveLength(1)
    expect(reader.now(tableBit(table + 15))).toHaveLength(1)
    expect(reader.now(tableBit(table + 1))).toEqual([])
    end()
  }
  // All fifteen, in the last turn too: no word is negative, nor taken for another.
  const all = Array.from({ length: 15 }, (_, table) => tableBit(table)).reduce((bits, bit) => bits | bit)
  for (let turn = 0; turn < 70_000; turn++) {
    const end = flags[0].begin(all).end
    if (turn % 1_000 === 0 || turn === 0x7fff) expect(reader.now(tableBit(14))).toHaveLength(1)
    end()
  }
  expect(reader.now(all)).toEqual([])
})

test('any writes, begun and ended in any order, are seen exactly while they are in flight', () => {
  const step = fc.record({ writer: fc.nat(1), table: fc.nat(2), ends: fc.boolean(), which: fc.nat() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), fc.boolean(), (steps, isCrowded) => {
      const { region, reader, flags } = made()
      let open: { writer: number; tables: number; end: () => void }[] = []
      if (isCrowded)
        open = Array.from({ length: OWN_MARKS - 3 }, () => ({
          writer: 0,
          tables: COMPANY,
          end: flags[0].begin(COMPANY).end,
        }))
      for (const { writer, table, ends, which } of steps) {
        if (ends && open.length > 0) open.splice(which % open.length, 1)[0]?.end()
        else if (!ends) {
          const tables = tableBit(table)
          open.push({ writer, tables, end: (flags[writer] as FlagWriter).begin(tables).end })
        }
        // Never fewer than there are; more only where a overflow counts for every table.
        for (const tables of [COMPANY, EMPLOYEE, ABSENCE]) {
          const due = open.filter((write) => write.tables === tables).length
          const seen = reader.now(tables).length
          if (due > 0) expect(seen).toBeGreaterThan(0)
          if (open.length < OWN_MARKS && !isCrowded) expect(seen).toBe(due)
        }
      }
      for (const { end } of open) end()
      expect(marksIn(region)).toBe(0)
    }),
    { numRuns: 200 },
  )
})

test('another process sees it, and its end', async () => {
  const file = new RegionFile(join(temporaryMemory(), 'changes'), 'changes', changeLogWords(2))
  file.ensure()
  const region = openRegion(file.path)
  const program = join(import.meta.dir, 'inFlightWriter.ts')
  const child = Bun.spawn([process.execPath, program, file.path, '1', String(ABSENCE)], {
    stdin: 'pipe',
    stdout: 'pipe',
  })
  try {
    const lines = child.stdout.getReader()
    const said = async () => new TextDecoder().decode((await lines.read()).value)
    const reader = new FlagReader(region)
    expect(await said()).toBe('begun')
    const flags = reader.now(ABSENCE)
    expect(flags).toHaveLength(1)
    expect(reader.still(flags)).toEqual(flags)
    child.stdin.write('end')
    child.stdin.flush()
    expect(await said()).toBe('ended')
    expect(reader.still(flags)).toEqual([])
    expect(reader.now(ABSENCE)).toEqual([])
  } finally {
    child.kill('SIGKILL')
    await child.exited
    region.close()
    file.close()
  }
}, 20_000)
