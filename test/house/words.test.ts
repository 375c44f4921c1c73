import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const SOURCE = join(import.meta.dir, '../../src')

/** Names that the code had once, each with the word of the field that has replaced it. A name may have a kind of use in front. */
const RETIRED: Readonly<Record<string, string>> = {
  // Limits, queues and time
  'class Turns': 'FairSemaphore',
  'new Turns': 'FairSemaphore',
  Party: 'Waiters',
  takeTurns: 'yieldEvery',
  Places: 'ConcurrencyLimit',
  ofOne: 'perKeyMax',
  StreamPlace: 'StreamSlot',
  streamPlaces: 'streamLimit',
  bodyPlaces: 'bodyLimit',
  summaryPlaces: 'summaryLimit',
  busyWithLists: 'tooManyLists',
  mostTogether: 'smallestRule',
  silentMs: 'idleMs',
  isSilent: 'isIdle',
  ANONYMOUS_REACH: 'ANONYMOUS_PROBE_MAX',
  isHolding: 'delaysNext',
  runAlone: 'runSingle',
  readAlone: 'readUnbatched, or withOwnConnection',
  askAlone: 'askOne',
  SETTLE_MS: 'HANDSHAKE_MS',
  // Writes
  'new Repeats': 'IdempotentWrites',
  'class Repeats': 'IdempotentWrites',
  AnsweredBefore: 'StoredAnswer',
  Batchable: 'BatchableStatement',
  Sending: 'WriteProgress',
  handOver: 'onDispatch',
  isHeldUp: 'isWaiting',
  VersionAsked: 'ExpectedVersion',
  ONCE_CONSTRAINT: 'CLAIM_CONSTRAINT',
  compileKept: 'compileDeleteBlockers',
  compileLook: 'compileFindStored',
  setsKey: 'setAuditKey',
  writtenBehind: 'writableSourcesOf',
  ownCopiesOf: 'selfCopiesOf',
  freeOf: 'uniqueConditions',
  lookUps: 'copiedValues',
  'function allOf': 'allTrue',
  'function isTrue': 'allTrue',
  PreparedShapes: 'PreparePolicy',
  RowsCreates: 'BulkCreates',
  RowsText: 'UnparsedRows',
  saysFault: 'reportsErrorInBody',
  // Callers
  Asker: 'Caller',
  asker: 'caller, or keyId',
  askers: 'innerAnswers',
  // Rights
  copiesOf: 'shownBy',
  // Lists and cursors
  ownerOf: 'parentRowOf',
  demandOf: 'listCostOf',
  soughtPage: 'pageByCursor',
  laterPage: 'pageByNumber',
  rangesBehind: 'rangesAfter',
  behindPair: 'rangesAfterPair',
  "side: 'behind'": "side: 'after'",
  isApart: 'isMaterialized',
  idsBehind: 'idsMatchingPath',
  chainsBehind: 'selfReferencesOf',
  ofPlace: 'ofPosition',
  compilePiece: 'compileStreamBatch',
  findBeside: 'findNextTo',
  // Memory
  'class Answers': 'ResponseCache',
  'new Answers': 'ResponseCache',
  Moment: 'LoadedState',
  compileMoment: 'compileLoadedState',
  compileRowsBehind: 'compileRowsAfter',
  Tracked: 'TableEntry',
  tooFew: 'missingRoom',
  LEAD: 'HEADER_COLUMNS',
  SETTLE_MAX: 'CATCH_UP_MAX',
  Around: 'Neighbors',
  aroundNone: 'neighborsOfUnknown',
  canMeet: 'canIntersect',
  Interned: 'ValueIds',
  KeyNumbers: 'GroupKeyEncoder',
  WholeNumbers: 'IntegerKey',
  CodeNumbers: 'HashedKey',
  placeOfMarks: 'reserveMarks',
  RunPlaces: 'RunIndexes',
  PagePlace: 'PageRows',
  onTaken: 'onCounted',
  isTaking: 'isCounting',
  takeRow: 'countRow, or applyRow',
  endTaking: 'endCounting, or endApplying',
  momentCode: 'temporalCode',
  MomentName: 'TemporalName',
  // The change feed
  ChangesPlace: 'FeedPosition',
  comparePlaces: 'comparePositions',
  ChangeLine: 'ChangeEvent',
  lineText: 'eventText',
  compileReach: 'compileStretchEnd',
  SETTLED: 'OLDEST_RUNNING',
  // Parsers and texts
  readShared: 'readCommonParameter',
  SharedParameters: 'CommonParameters',
  refuseForeign: 'rejectUnusedParameters',
  requireModest: 'checkComplexity',
  foreignParameters: 'otherApiHints',
  hintForForeign: 'hintForParameter',
  'shown.ts': 'excerpt.ts',
  NEARLY: 'ALMOST_ISO',
  PLUS_LOST: 'PLUS_AS_SPACE',
  tryOut: 'createInRolledBackTransaction',
  inPieces: 'chunked',
  addressBehind: 'clientAddress',
  // Files and pages
  TablePlace: 'TableBounds',
  ImportPlace: 'ImportServer',
  belowText: 'footerText',
  faultPlaces: 'rowsInWords',
  settlePending: 'repeatPending',
  besideLying: 'horizontalTipAt',
}

/** A retired name as a whole word, where it begins or ends with a letter. */
function patternOf(name: string): RegExp {
  const text = name.replace(/[^\w ':]/g, '\\$&')
  return new RegExp(`${/^\w/.test(name) ? '(?<![\\w$])' : ''}${text}${/\w$/.test(name) ? '(?![\\w$])' : ''}`)
}

const retired = Object.entries(RETIRED).map(([name, better]) => ({ name, better, pattern: patternOf(name) }))

/** Retired names in a text, each with its line and the better word. */
const findRetired = (text: string) =>
  text
    .split('\n')
    .flatMap((line, index) =>
      retired
        .filter(({ pattern }) => pattern.test(line))
        .map(({ name, better }) => `${index + 1}: ${name} is called ${better} now`),
    )

test('findRetired finds retired names as whole words, and says the better name for each', () => {
  const text = ["import { Places } from './places.ts'", 'const turnsOf = Turnstile', 'takeTurns(shown.ts)'].join('\n')
  expect(findRetired(text)).toEqual([
    '1: Places is called ConcurrencyLimit now',
    '3: takeTurns is called yieldEvery now',
    '3: shown.ts is called excerpt.ts now',
  ])
})

test('src has no retired name in code or comments: each thing has one name', () => {
  const files = [...new Bun.Glob('**/*.{ts,tsx}').scanSync(SOURCE)].filter((file) => !file.startsWith('pages/vendor/')).sort()
  expect(files.length).toBeGreaterThan(200)
  const found = files.flatMap((file) => findRetired(readFileSync(join(SOURCE, file), 'utf8')).map((line) => `${file}:${line}`))
  expect(found).toEqual([])
})
