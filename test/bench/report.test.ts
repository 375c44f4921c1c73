import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { formatColumns } from '../../bench/report/columns.ts'
import { figureText, tickText } from '../../bench/report/figure.ts'
import type { Goal } from '../../bench/report/goals.ts'
import { writeJson } from '../../bench/report/json.ts'
import { linePlot } from '../../bench/report/linePlot.ts'
import { writePage } from '../../bench/report/page.ts'
import { linearScale, logarithmicScale, percentileScale, type Scale } from '../../bench/report/scale.ts'
import { COLOURS, styleAt } from '../../bench/report/seriesStyle.ts'
import { BACKGROUNDS } from '../../bench/report/stylesheet.ts'
import type { Curve, Results, Sample, TargetResult } from '../../bench/results.ts'

const latency: Sample['latency'] = [
  [0, 0.5],
  [50, 1.25],
  [99, 4.5],
]

function sample(requestsPerSecond: number, more: Partial<Sample> = {}): Sample {
  const times = { p50Ms: 1.25, p97_5Ms: 3.75, p99Ms: 4.5, errors: 0, unexpected: 0, latency }
  return { requestsPerSecond, ...times, serverCpuUs: 31.4, postgresCpuUs: 19.2, rssMb: 88.6, ...more }
}

/** A target whose rounds had these requests/s. */
function target(name: string, rates: readonly number[], more: Partial<Sample> = {}): TargetResult {
  return { target: name, rounds: rates.map((rate) => sample(rate, more)), void: null }
}

const curve: Curve = {
  name: 'depth',
  title: 'Cost by depth of page',
  x: 'page',
  y: 'p50 ms',
  logarithmic: true,
  series: [
    {
      label: 'by id',
      points: [
        [1, 1.5],
        [1_000, 40.5],
      ],
    },
  ],
}

function resultsOf(targets: readonly TargetResult[], more: Partial<Results> = {}): Results {
  return {
    date: '2026-01-31T09:00:00Z',
    command: 'npm run bench',
    commit: 'abc1234+',
    machine: { cpu: 'A processor', cores: 2, memoryGb: 24, os: 'Linux 6' },
    versions: { bun: '1.2.3' },
    seconds: 4,
    rounds: 3,
    connections: 32,
    workers: 2,
    rows: { absences: 1_000_000, employees: 200_000, companies: 100_000 },
    scenarios: [{ name: 'one-by-id', title: 'one absence by a random id', targets }],
    curves: [curve],
    ...more,
  }
}

const ordinary = resultsOf([
  target('roster', [12_100, 12_000.5, 11_000]),
  target('constant', [40_000, 48_002, 50_000], { serverCpuUs: 8, postgresCpuUs: null }),
  target('bare', [15_000, 15_000, 16_000], { serverCpuUs: 25.12 }),
  target('pgbench', [30_000, 30_000, 30_000], { serverCpuUs: null, rssMb: null }),
  target('fastify', [9_000, 9_500, 9_100]),
  target('hono', [10_000, 9_900, 10_100]),
])

/** Fails unless every tag is closed by its like, and every ampersand begins an entity. */
function expectWellFormed(page: string) {
  const open: string[] = []
  for (const [, end, name = '', empty] of page.matchAll(/<(\/?)([a-zA-Z][\w-]*)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (end) expect(open.pop()).toBe(name)
    else if (!empty) open.push(name)
  }
  expect(open).toEqual([])
  const texts = page.replace(/<style>.*?<\/style>/s, '').replace(/<\/?[a-zA-Z!][^<>]*>/g, '')
  expect(texts).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot|#x27);)/)
  const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id as string)
  expect(ids).toEqual([...new Set(ids)])
  for (const [, named = ''] of page.matchAll(/aria-labelledby="([^"]*)"/g))
    expect(named.split(' ').filter((id) => !ids.includes(id))).toEqual([])
}

/** The rows of the summary by target; each cell as its figures in full, or its text where it has none. */
function summaryOf(page: string): Record<string, (string | number[])[]> {
  const [table = ''] = /<table class="summary">.*?<\/table>/s.exec(page) ?? []
  const rows = [...table.matchAll(/<tr(?: class="(?:subject|void)?")?><th scope="row">(.*?)<\/th>(.*?)<\/tr>/gs)]
  return Object.fromEntries(
    rows.map(([, head = '', cells = '']) => [
      textOf(head),
      [...cells.matchAll(/<td.*?>(.*?)<\/td>/gs)].map(([, cell = '']) => {
        const figures = [...cell.matchAll(/<data value="(.*?)">/g)].map(([, value]) => Number(value))
        return figures.length > 0 ? figures : textOf(cell)
      }),
    ]),
  )
}

function textOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, '').trim()
}

/** The pieces of a page that are an `<svg role="img">`, by their titles. */
function plotsOf(page: string): Record<string, string> {
  const plots = [...page.matchAll(/<svg [^>]*role="img".*?<title id="[^"]*">(.*?)<\/title>.*?<\/svg>/gs)]
  return Object.fromEntries(plots.map(([svg, title = '']) => [title, svg]))
}

describe('the page', () => {
  const page = writePage(ordinary)

  test('is well-formed, and needs nothing but itself', () => {
    expectWellFormed(page)
    expect(page).not.toMatch(/<(script|link|img|iframe|object)|https?:|@import|url\(/)
  })

  test('tells where, when, of what and how it was measured', () => {
    const heads = [...page.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map(([, name, value]) => [name, value])
    expect(Object.fromEntries(heads)).toEqual({
      date: '2026-01-31T09:00:00Z',
      commit: 'abc1234+',
      command: 'npm run bench',
      machine: 'A processor, 2 cores, 24.0 GB, Linux 6',
      versions: 'bun 1.2.3',
      rows: '1,000,000 absences, 200,000 employees, 100,000 companies',
      load: '32 connections, 3 rounds of 4 s for each target, 2 workers',
    })
  })

  test('has the medians, spreads and ratios of the results in its summary', () => {
    const columns = [...page.matchAll(/<th scope="col">(.*?)<\/th>/g)].map(([, head]) => head).slice(1, 15)
    expect(columns).toEqual(
      (
        'requests/s,least – most,p50 ms,p97.5 ms,p99 ms,server CPU µs,PostgreSQL CPU µs,RSS MB,' +
        '× constant,× bare,× pgbench,server CPU × constant,server CPU × bare,× best peer'
      ).split(','),
    )
    const rows = summaryOf(page)
    const times = [[1.25], [3.75], [4.5]]
    expect(rows.roster).toEqual([
      [12_000.5],
      [11_000, 12_100],
      ...times,
      ...[[31.4], [19.2], [88.6]],
      ...[
        [12_000.5 / 48_002],
        [12_000.5 / 15_000],
        [12_000.5 / 30_000],
        [31.4 / 8],
        [31.4 / 25.12],
        [12_000.5 / 10_000],
      ],
    ])
    expect(rows.constant?.slice(5)).toEqual([
      [8],
      '–',
      [88.6],
      '–',
      [48_002 / 15_000],
      [48_002 / 30_000],
      '–',
      [8 / 25.12],
      '',
    ])
    expect(rows.pgbench?.slice(5)).toEqual(['–', [19.2], '–', [30_000 / 48_002], [2], '–', '–', '–', ''])
    expect(Object.keys(rows)).toEqual(['roster', 'constant', 'bare', 'pgbench', 'fastify', 'hono'])
  })

  test('has plots with a title and a description, and the figures behind each line in a table', () => {
    const plots = plotsOf(page)
    const name = 'one absence by a random id'
    const titles = [`Throughput: ${name}`, `Latency: ${name}`, `CPU of a request: ${name}`, curve.title]
    expect(Object.keys(plots)).toEqual(titles)
    for (const plot of Object.values(plots)) expect(plot).toMatch(/<desc id="[^"]+">[^<]+<\/desc>/)
    const tables = [...page.matchAll(/<details>.*?<\/details>/gs)].map(([table]) =>
      [...table.matchAll(/<data value="(.*?)">/g)].map(([, value]) => Number(value)),
    )
    expect(tables).toEqual([latency.flatMap(([, ms]) => Array(6).fill(ms)), [1, 1.5, 1_000, 40.5]])
  })

  test('gives each target one look in all its plots', () => {
    const lines = [
      ...(plotsOf(page)['Latency: one absence by a random id'] ?? '').matchAll(
        /<path class="line (s\d)" stroke-dasharray="(.*?)"/g,
      ),
    ]
    expect(lines).toHaveLength(6)
    expect(new Set(lines.map(([, colour]) => colour)).size).toBe(6)
    expect(new Set(lines.map(([, colour, dash]) => `${colour} ${dash}`)).size).toBe(6)
    expect(plotsOf(page)['Throughput: one absence by a random id']).toContain(`class="fill ${lines[5]?.[1]}"`)
  })

  test('draws the whisker of a bar from the least to the greatest of its rounds', () => {
    const plot =
      plotsOf(writePage(resultsOf([target('roster', [50, 100, 75])])))['Throughput: one absence by a random id'] ?? ''
    const [, left, width] = /<rect class="fill s0" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/.exec(plot) ?? []
    const [, from, to] = /<path class="whisker" d="M([\d.]+) [^H]*H([\d.]+)/.exec(plot) ?? []
    const unit = Number(width) / 75
    expect((Number(from) - Number(left)) / unit).toBeCloseTo(50, 0)
    expect((Number(to) - Number(left)) / unit).toBeCloseTo(100, 0)
  })
})

describe('the comparison with the best peer', () => {
  const outcome = (ours: number[], theirs: number[]) => {
    const page = writePage(resultsOf([target('roster', ours), target('fastify', [1, 1]), target('hono', theirs)]))
    return /<span class="(ahead|behind|open)"><data value="(.*?)">.*?<\/span>/.exec(
      page.split('class="summary"')[1] ?? '',
    )
  }

  test('says ahead, behind, or that the rounds overlap', () => {
    expect(outcome([200, 210, 220], [100, 110, 120])?.slice(1)).toEqual(['ahead', String(210 / 110)])
    expect(outcome([100, 110, 120], [200, 210, 220])?.slice(1)).toEqual(['behind', String(110 / 210)])
    expect(outcome([100, 110, 200], [150, 210, 220])?.slice(1)).toEqual(['open', String(110 / 210)])
    expect(textOf(outcome([1, 2, 3], [4, 5, 6])?.[0] ?? '')).toBe('0.40 ▼ behind hono')
  })

  test('lists the scenarios of each outcome, losses like wins', () => {
    const scenario = (title: string, ours: number) => ({
      name: title,
      title,
      targets: [target('roster', [ours]), target('hono', [100])],
    })
    const page = writePage(
      resultsOf([], { scenarios: [scenario('reads', 150), scenario('writes', 50), scenario('lists', 30)] }),
    )
    const [, list = ''] = /<ul class="score">(.*?)<\/ul>/s.exec(page) ?? []
    expect(list.split('</li>').map(textOf)).toEqual([
      '▲ ahead of the best peer: 1 of 3: reads (hono)',
      '▼ behind the best peer: 2 of 3: writes (hono); lists (hono)',
      '◆ rounds overlap with the best peer: 0 of 3',
      '',
    ])
  })

  test('is not there without peers', () => {
    const page = writePage(resultsOf([target('roster', [2]), target('constant', [9])]))
    expect(page).not.toContain('class="score"')
    expect(page).not.toContain('× best peer</th>')
    expect(summaryOf(page).roster?.slice(8)).toEqual([[2 / 9], [1]])
  })
})

describe('the comparison with peers that have an index for the list', () => {
  const page = writePage(
    resultsOf([
      target('roster', [900]),
      target('hono', [30]),
      ...[100, 90].map((rate, index) => target(`${['fastify', 'hono'][index]}-indexed`, [rate])),
    ]),
  )

  test('is beside that with the others, and neither counts for the other', () => {
    expect(page).toContain('<th scope="col">× best peer</th><th scope="col">× best peer with its index</th>')
    expect(summaryOf(page).roster?.slice(-2)).toEqual([[30], [9]])
    expect(page).toContain('▲ ahead of hono')
    expect(page).toContain('▲ ahead of fastify-indexed')
  })

  test('is not there without such peers', () => {
    expect(writePage(ordinary)).not.toContain('with its index</th>')
  })
})

describe('a void row', () => {
  const spoiled = { ...target('hono', [20_000, 20_000]), void: '14 answers were 500 instead of 200' }
  const page = writePage(resultsOf([target('roster', [12_000]), target('fastify', [9_000]), spoiled]))

  test('is struck out and says why', () => {
    const [, row = ''] = /<tr class="void">(.*?)<\/tr>/s.exec(page) ?? []
    expect(row).toContain('<s>hono</s>')
    expect(row).toContain('<td><s><data value="20000">20,000</data></s></td>')
    expect(textOf(row)).toEndWith('void: 14 answers were 500 instead of 200')
    expect(row.match(/<data/g)?.length).toBe(row.match(/<s><data| – <data/g)?.length ?? 0)
  })

  test('is compared with nothing, and drawn nowhere', () => {
    expect(summaryOf(page).roster?.at(-1)).toEqual([12_000 / 9_000])
    const plots = Object.values(plotsOf(page))
    expect(plots.map((plot) => [plot.includes('fastify'), plot.includes('hono')])).toEqual([
      ...Array(3).fill([true, false]),
      [false, false],
    ])
  })

  test('may be Roster’s own, or one that never ran', () => {
    const broken = writePage(
      resultsOf([
        { ...target('roster', [100]), void: 'it ended' },
        { target: 'bare', rounds: [], void: 'it did not start' },
        target('hono', [200]),
      ]),
    )
    expectWellFormed(broken)
    expect(summaryOf(broken).roster?.at(-1)).toBe('void: it ended')
    expect(summaryOf(broken).bare?.[0]).toBe('–')
    expect(broken).not.toContain('class="score"')
  })
})

describe('texts', () => {
  const hostile = `</title></style>"'<b onload=x>&amp;\u0000\u001b[31m\ud800`

  test('never become markup', () => {
    const page = writePage({
      ...resultsOf([]),
      date: hostile,
      command: hostile,
      commit: hostile,
      machine: { cpu: hostile, cores: 2, memoryGb: 1, os: hostile },
      versions: { [hostile]: hostile },
      scenarios: [
        {
          name: hostile,
          title: hostile,
          targets: [target('roster', [1]), target(hostile, [2]), { ...target(`${hostile}2`, [2]), void: hostile }],
        },
      ],
      curves: [
        {
          ...curve,
          name: hostile,
          title: hostile,
          x: hostile,
          y: hostile,
          series: [{ label: hostile, points: [[1, 1]] }],
        },
      ],
    })
    expectWellFormed(page)
    expect(page).not.toContain('<b ')
    expect(page).toContain('&quot;&#x27;&lt;b onload=x&gt;&amp;amp;\ufffd\ufffd[31m\ufffd')
    expect(page.match(/<\/title><\/style>/)).toBeNull()
  })
})

describe('what is missing', () => {
  const odd = [null, Number.NaN, Number.POSITIVE_INFINITY, 0, -1]
  const pages = odd.map((value) => {
    const figures = { serverCpuUs: value, postgresCpuUs: value, rssMb: value }
    const times = { p50Ms: value ?? 0, p97_5Ms: value ?? 0, p99Ms: value ?? 0 }
    const points = [[value ?? 0, value ?? 0]] as const
    const targets = [
      target('roster', [value ?? 0], { ...figures, ...times, latency: points }),
      target('bare', [value ?? 0, 5], { ...figures, latency: [] }),
      target('hono', [value ?? 0]),
    ]
    const series = [
      { label: 'a', points },
      { label: 'b', points: [] },
    ]
    const curves = [true, false].map((logarithmic) => ({ ...curve, logarithmic, series }))
    return writePage(resultsOf(targets, { curves }))
  })
  const empty = [
    resultsOf([]),
    resultsOf([], { scenarios: [], curves: [] }),
    resultsOf([target('roster', [])]),
    resultsOf([target('hono', [3])], { curves: [{ ...curve, series: [] }] }),
  ].map(writePage)

  test('leaves a page that is whole, without NaN, Infinity, null or undefined', () => {
    for (const page of [...pages, ...empty]) {
      expectWellFormed(page)
      expect(page).not.toMatch(/NaN|Infinity|null|undefined/)
    }
  })

  test('leaves room for why a row is void, where there is nothing to compare with', () => {
    const page = writePage(resultsOf([{ ...target('roster', [9]), void: 'it ended' }]))
    expectWellFormed(page)
    expect(page).toContain('<tr class="void"><td class="reason" colspan="9">void: it ended</td></tr>')
  })

  test('is a dash in the table', () => {
    expect(summaryOf(pages[0] as string).roster?.slice(5, 8)).toEqual(['–', '–', '–'])
    expect(summaryOf(pages[1] as string).roster).toEqual([...Array(1).fill('–'), '– – –', ...Array(8).fill('–')])
  })
})

describe('scales', () => {
  const values = fc.array(fc.double({ min: 1e-3, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 30 })

  function expectFits(scale: Scale, shown: readonly number[]) {
    for (const value of shown) {
      const at = scale.place(value) ?? Number.NaN
      expect(at).toBeGreaterThanOrEqual(-1e-9)
      expect(at).toBeLessThanOrEqual(1 + 1e-9)
    }
    const ticks = scale.ticks.map(({ value }) => value)
    expect(ticks).toEqual(ticks.toSorted((a, b) => a - b))
    expect(new Set(scale.ticks.map(({ label }) => label)).size).toBe(ticks.length)
    expect(ticks.length).toBeGreaterThanOrEqual(2)
    expect(ticks.length).toBeLessThanOrEqual(8)
  }

  test('hold all their values between 2 to 8 ticks of different labels', () => {
    fc.assert(
      fc.property(values, (list) => {
        expectFits(linearScale(list), list)
        expectFits(logarithmicScale(list), list)
      }),
    )
  })

  test('have round ticks', () => {
    const labels = (scale: Scale) => scale.ticks.map(({ label }) => label).join(' ')
    expect(labels(linearScale([3, 47_000]))).toBe('0 10k 20k 30k 40k 50k')
    expect(labels(linearScale([0.031]))).toBe('0 0.01 0.02 0.03 0.04')
    expect(labels(linearScale([-3, 4]))).toBe('-4 -2 0 2 4')
    expect(labels(linearScale([]))).toBe('0 0.2 0.4 0.6 0.8 1')
    expect(labels(logarithmicScale([3, 40]))).toBe('2 5 10 20 50')
    expect(labels(logarithmicScale([1, 1_000_000]))).toBe('1 10 100 1000 10k 100k 1M')
    expect(labels(logarithmicScale([7]))).toBe('5 10')
    expect(labels(logarithmicScale([0, -1]))).toBe('1 10')
    expect(labels(percentileScale([50, 99.95]))).toBe('0 50 90 99 99.9')
  })

  test('give each further nine the same width, and 100 % no place', () => {
    const { place } = percentileScale([0, 99.99])
    expect([0, 90, 99, 99.9, 99.99].map((value) => place(value)?.toFixed(6))).toEqual([
      '0.000000',
      '0.250000',
      '0.500000',
      '0.750000',
      '1.000000',
    ])
    expect([100, -1, Number.NaN].map(place)).toEqual([null, null, null])
    expect(logarithmicScale([1, 10]).place(0)).toBeNull()
  })
})

describe('a line', () => {
  test('passes through its points, and leaves out what its axes cannot show', () => {
    const scale = logarithmicScale([1, 100])
    const points = [
      [1, 1],
      [10, 10],
      [0, 5],
      [100, 100],
    ] as const
    const { text } = linePlot({
      id: 'a',
      title: 't',
      description: 'd',
      x: { label: 'x', scale },
      y: { label: 'y', scale },
      series: [{ label: 'one', style: styleAt(0), points }],
    })
    const [, path = ''] = /<path class="line s0" stroke-dasharray="none" d="(.*?)"/.exec(text) ?? []
    const places = [...path.matchAll(/([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const)
    const [first = [0, 0], again, middle = [0, 0], last = [0, 0], ...more] = places
    expect([again, more]).toEqual([first, []])
    expect(middle[0]).toBeCloseTo((first[0] + last[0]) / 2, 1)
    expect(middle[1]).toBeCloseTo((first[1] + last[1]) / 2, 1)
    expect(first[1]).toBeGreaterThan(last[1])
  })
})

test('figures have three digits that count', () => {
  expect([12_345.6, 123.4, 99.96, 12.34, 9.999, 1.234, 0.9999, 0.1234, 0].map(figureText)).toEqual([
    '12,346',
    '123',
    '100',
    '12.3',
    '10.0',
    '1.23',
    '1.00',
    '0.123',
    '0',
  ])
  expect([0.1 + 0.2, 1500, 25_000, 2.5e6].map(tickText)).toEqual(['0.3', '1500', '25k', '2.5M'])
})

test('every colour stands out from its background by 3 : 1 at least', () => {
  const luminance = (colour: string) => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  for (const scheme of ['light', 'dark'] as const)
    for (const colour of COLOURS) {
      const [less = 0, more = 0] = [colour[scheme], BACKGROUNDS[scheme]].map(luminance).toSorted((a, b) => a - b)
      expect((more + 0.05) / (less + 0.05)).toBeGreaterThanOrEqual(3)
    }
})

describe('absences in columns', () => {
  const write = { writesPerSecond: 1_000, serverCpuUs: 210, rssMb: 190 }
  const round = { listensMs: 400, firstListMs: 5_000, loadMs: 1_100, mb: 64, loadServerMs: 1_000, loadPostgresMs: 900 }
  const columns = [90, 80, 100].map((rssMb) => ({
    ...{ ...round, with: write },
    without: { ...write, rssMb, serverCpuUs: null },
  }))

  test('are a table of their medians, least and most, and a dash for what was not measured', () => {
    const page = writePage(resultsOf([], { columns }))
    expectWellFormed(page)
    const [, table = ''] = /aria-label="Absences in columns"[^>]*>(.*?)<\/table>/s.exec(page) ?? []
    const cells = [...table.matchAll(/<th scope="row">(.*?)<\/th><td>(.*?)<\/td><td>(.*?)<\/td>/gs)].map((cells) =>
      cells.slice(1).map((cell) => textOf(cell)),
    )
    expect(cells).toContainEqual(['resident memory more than without columns, MB', '100', '90.0 – 110'])
    expect(cells).toContainEqual(['the same for a million absences, MB', '100', '90.0 – 110'])
    expect(cells).toContainEqual(['CPU time of the server for a change, µs', '210', '210 – 210'])
    expect(cells).toContainEqual(['the same without columns, µs', '–', '– – –'])
  })

  test('of few rows say nothing of a million', () => {
    const rows = { absences: 20_000, employees: 4_000, companies: 2_000 }
    expect(formatColumns(columns, rows)).toContain('\n  the same for a million absences, MB: -\n')
    expect(formatColumns(columns, { ...rows, absences: 500_000 })).toContain('a million absences, MB: 200 (180..220)\n')
  })

  test('are not there where nothing was measured', () => {
    expect(writePage(ordinary)).not.toContain('Absences in columns')
  })
})

describe('the goals', () => {
  const scenario = (name: string, targets: readonly TargetResult[]) => ({ name, title: name, targets })
  const series = (label: string, ...points: [number, number][]) => ({ label, points })
  const results = resultsOf([], {
    scenarios: [
      scenario('filter-sort', [
        target('roster', [1_000], { p50Ms: 1.3, serverCpuUs: 20 }),
        target('no-cache', [1_100], { serverCpuUs: 100 }),
        target('constant', [2_000], { serverCpuUs: 16 }),
        target('uncounted', [500], { p50Ms: 1 }),
        target('fastify', [40]),
      ]),
      scenario('patch', [target('roster', [96]), target('no-cache', [100])]),
      scenario('new-lists', [target('roster', [840]), target('fastify', [40]), target('fastify-indexed', [150])]),
    ],
    curves: [
      { ...curve, name: 'rows', series: [series('first page', [10_000, 130], [100_000, 1], [1_000_000, 100])] },
      { ...curve, series: [series('roster', [1, 2], [20_000, 3])] },
    ],
  })
  const found = JSON.parse(writeJson(results))

  test('are judged by the ratios of the run', () => {
    expect(found.goals.map(({ of, found, isMet }: Goal) => [of, Number(found.toFixed(4)), isMet])).toEqual([
      ['new-lists', 21, true],
      ['new-lists', 5.6, false],
      ['filter-sort', 25, true],
      ['filter-sort', 1.3, false],
      ['filter-sort', 1.25, true],
      ['rows', 1.3, false],
      ['depth', 1.5, true],
      ['filter-sort', 0.9091, false],
      ['patch', 0.96, true],
    ])
  })

  test('stand on the page', () => {
    const page = writePage(results)
    expectWellFormed(page)
    expect(page).toContain('Met: 5 of 9.')
    expect(page.match(/✗ missed/g)).toHaveLength(4)
  })

  test('of which a run does not tell are left out, and those of what is void', () => {
    expect(writePage(ordinary)).not.toContain('<h2>Goals</h2>')
    const broken = { ...target('no-cache', [1]), void: 'it ended' }
    expect(writePage(resultsOf([target('roster', [1]), broken]))).not.toContain('<h2>Goals</h2>')
  })

  test('the file has each scenario’s ratios by the heads of the page', () => {
    expect(found.scenarios[0].ratios).toEqual({
      ...{ '× no-cache': 1_000 / 1_100, '× constant': 0.5, '× uncounted': 2 },
      ...{ 'server CPU × no-cache': 0.2, 'server CPU × constant': 1.25, 'p50 × uncounted': 1.3, '× best peer': 25 },
    })
  })

  test('the server without the list cache is beside it, and no peer', () => {
    expect(summaryOf(writePage(resultsOf(results.scenarios[1]?.targets ?? []))).roster?.slice(8)).toEqual([[0.96], [1]])
  })
})
