// Client errors, status 400: meaning, cause, remedy and example of each. The parsers throw most of these errors.
import { about, api, COMPANY, fault, ofStatus } from './entry.ts'

const FILTERS = Array.from({ length: 33 }, (_, index) => `Id=!=${index + 1}`).join('&')

/** Entries by code. Spec 7. */
export const badRequests = ofStatus(400, {
  InvalidHost: {
    title: 'The Host header is not valid',
    explanation: 'The request has no Host header, several of them, or one that is no name or address.',
    remedy: 'Send one Host header with the name or address of this server, and the port if it is not the default.',
    request: 'GET /Companies',
    headers: { Host: 'a.example, b.example' },
    answer: api('The Host header is not valid.'),
  },
  InvalidHeader: {
    title: 'A header is not valid',
    explanation: 'If-Match and If-None-Match are * or tags in double quotes, Idempotency-Key has 1 to 255 characters.',
    remedy: 'Send the header as the message says, or leave it out; a tag as ETag has it, with its quotes.',
    request: 'PATCH /Companies/1',
    headers: { 'If-Match': '4711' },
    body: COMPANY,
    answer: about(
      'If-Match',
      'If-Match is * or one or more tags as ETag has them, in double quotes and separated by commas, not 4711. Did you mean "4711"?',
    ),
  },
  InvalidQueryString: {
    title: 'The query string could not be decoded',
    explanation: 'Percent escapes are a % and two hexadecimal digits; the bytes they stand for must be UTF-8.',
    remedy: 'Percent-encode names and values: a % is %25, a plus is %2B.',
    request: 'GET /Companies?Name=100%',
    answer: api('The query string has a bad percent escape, or bytes that are not UTF-8, in "100%".'),
  },
  UnknownParameter: {
    title: 'The collection has no such query parameter',
    explanation:
      'Parameters are sort, PageSize, page, cursor, fields, bom, excel, locale, may and properties. Others are refused.',
    remedy: 'Take the name that the message suggests, or a property’s. One row takes fields alone, and only to read it.',
    request: 'GET /Absences?Statsu=Approved',
    answer: about('Statsu', 'Absences has no parameter "Statsu". Did you mean Status?'),
  },
  InvalidFilter: {
    title: 'A filter does not fit its property',
    explanation:
      'A filter is <Property>=[<operator>]<value>, with one of the operators = != < <= > >=, or <Property><operator>=<value>, with [] [begins] [contains] [under]. The value must be of the property’s type; true and false have no order; < and its like need a value.',
    remedy: 'Correct the value as the message says. Operators behind the first = are percent-encoded: < is %3C.',
    request: 'GET /Companies?Enabled=%3Efalse',
    answer: about('Enabled', 'Enabled is true or false: it can be compared with =, != and [], not with >.'),
  },
  FilterRequired: {
    title: 'A write of several rows has no filter',
    explanation: 'PATCH and DELETE of a collection write all rows that match their filters, so they need at least one.',
    remedy: 'Send a filter, or the address of one row. For all rows that you may read, filter by Id=!=.',
    request: 'DELETE /Companies',
    answer: api(
      'DELETE of Companies needs a filter that says which rows: one row has an address of its own, /Companies/<id>, and Id=!= means all that you may read.',
    ),
  },
  TooManyRows: {
    title: 'Too many rows match for one write',
    explanation:
      'PATCH and DELETE of a collection write up to 1,000 rows, and count as one request for each 100. More than the limits of the key ever allow are refused, too. Nothing was written.',
    remedy: 'Add filters, such as ranges of Id, and send several requests.',
    request: 'PATCH /Companies?Id=!=',
    body: COMPANY,
    when: 'there are more than 1,000 companies',
    answer: api('More than 1,000 Companies match, and one request changes up to 1,000: add a filter, such as Id=<=<id>.'),
  },
  TooManyFilters: {
    title: 'The request has too many filters',
    explanation:
      'One request may have up to 32 filters, 8 of them by paths such as EmployeeId.Department or by [under], and 100 values of [] in all.',
    remedy: 'Leave filters out, or send several requests.',
    request: `GET /Companies?${FILTERS}`,
    answer: api('A request may have up to 32 filters.'),
  },
  InvalidSort: {
    title: 'A sort definition is not valid',
    explanation: 'sort is names with commas between, + or - before each, parts with a dot: sort=-Start,+Period.Days.',
    remedy: 'Take the name that the message suggests, or one of the entity’s properties.',
    request: 'GET /Companies?sort=-Nmae',
    answer: about('sort', 'Companies cannot be sorted by "Nmae". Did you mean Name?'),
  },
  InvalidPageSize: {
    title: 'PageSize is not an integer',
    explanation: 'PageSize is an integer, given once. Outside 5 to 50 (changes: 1 to 500) the nearest counts. Streams have none.',
    remedy: 'Send a number from 5 to 50, or leave PageSize out for pages of 20.',
    request: 'GET /Companies?PageSize=many',
    answer: about('PageSize', 'PageSize must be an integer; 5 to 50 make a difference.'),
  },
  InvalidPage: {
    title: 'page is not an integer of 1 or more',
    explanation: 'page is an integer from 1 upwards, given once. A page past the last is empty. Streams have no pages.',
    remedy: 'Follow the links of a page, or count from 1.',
    request: 'GET /Companies?page=0',
    answer: about('page', 'page must be an integer of 1 or more.'),
  },
  InvalidCursor: {
    title: 'The cursor is not one of this list',
    explanation: 'A cursor comes from a next or previous link, and belongs to that collection, those filters and that sort.',
    remedy: 'Follow the link as it stands, or leave cursor out: page alone leads to a page.',
    request: 'GET /Companies?page=2&cursor=altered',
    answer: about('cursor', 'The cursor is not one of this list: it was altered, or the filters or the sort were.'),
  },
  InvalidFields: {
    title: 'fields names no property',
    explanation: 'fields is names with commas between, an object’s parts with a dot: fields=Id,Period.Days.',
    remedy: 'Take the name that the message suggests, or leave fields out for every property.',
    request: 'GET /Companies?fields=Id,Nmae',
    answer: about('fields', 'Companies have no property "Nmae". Did you mean Name?'),
  },
  InvalidMay: {
    title: 'may names no write, or no property that a write sets',
    explanation:
      'may is update, update with names of properties as in update(Status,Reason), or delete, given once: only rows of which you may do that are answered.',
    remedy: 'Take the verb or the name that the message suggests, or leave may out for all rows that you may read.',
    request: 'GET /Absences?may=update(Statsu)',
    answer: about('may', 'Absences have no property "Statsu". Did you mean Status?'),
  },
  InvalidGroupBy: {
    title: 'groupBy names no property, or a period of none',
    explanation: 'groupBy is up to 3 properties, each once, dates by year() to day(): groupBy=Type,month(Start).',
    remedy: 'Take the name that the message suggests, or leave groupBy out for one group of all rows.',
    request: 'GET /Absences/Summary?groupBy=Type,moth(Start)',
    answer: about('groupBy', 'There is no "moth" of a date: year, quarter, month, week or day. Did you mean month?'),
  },
  InvalidZone: {
    title: 'zone is no time zone, or these groups have no use for one',
    explanation:
      'zone is the IANA name of a time zone, given once, for periods of date-times: groupBy=month(Start)&zone=Europe/Amsterdam.',
    remedy: 'Take the name that the message suggests, or leave zone out for periods in UTC.',
    request: 'GET /Absences/Summary?groupBy=month(Start)&zone=Amsterdam',
    answer: about(
      'zone',
      'zone is the IANA name of a time zone, such as Europe/Amsterdam, not "Amsterdam". Did you mean Europe/Amsterdam?',
    ),
  },
  InvalidAggregate: {
    title: 'A property cannot be aggregated so',
    explanation:
      'sum and average take numbers other than ids, the others what has an order, up to 8 properties each: sum=Period.Days.',
    remedy: 'Take the name that the message suggests, or another property.',
    request: 'GET /Absences/Summary?groupBy=Type&sum=Start',
    answer: about('sum', 'Start is a date-time like 2024-01-31T09:00:00Z: sum takes Period.Days or Period.Hours.'),
  },
  TooManyGroups: {
    title: 'The summary would have too many groups',
    explanation: 'A summary has up to 250,000 groups.',
    remedy: 'Filter rows, or group by fewer properties or by longer periods.',
    request: 'GET /Absences/Summary?groupBy=Id',
    when: 'there are more than 250,000 absences',
    answer: about(
      'groupBy',
      'A summary has up to 250,000 groups, and this one would have more: filter rows, or group by fewer properties or by longer periods.',
    ),
  },
  InvalidForm: {
    title: 'A parameter of the form of an answer has a wrong value, or does not belong to this answer',
    explanation: 'bom and excel are 1 or 0, locale is a language, all for CSV; rows of /Changes is current. Each is given once.',
    remedy: 'Send them with Accept: text/csv, or leave them out.',
    request: 'GET /Companies?bom=yes',
    answer: about('bom', 'bom is 1 or 0.'),
  },
  InvalidDryRun: {
    title: 'dryRun is not 1 or 0',
    explanation: 'dryRun says that rows are only checked, and is 1 or 0, given once.',
    remedy: 'Send dryRun=1 to check rows without writing them, or leave dryRun out to create them.',
    request: 'POST /Companies?dryRun=yes',
    body: '[{"Name": "Blue Moon"}, {"Name": "Red Sun"}]',
    answer: about('dryRun', 'dryRun is 1 or 0.'),
  },
  InvalidMatch: {
    title: 'match names no property by which rows can be found',
    explanation: 'match is the name of one property whose values tell rows apart, given once: one that you read, and can set.',
    remedy: 'Use a property such as a number or an address that only one row has, as the message lists them.',
    request: 'POST /Employees?match=Number',
    body: '[{"EmployeeNumber": "E0001", "JobTitle": "Engineer"}]',
    answer: about('match', 'Employees have no property "Number". Did you mean EmployeeNumber?'),
  },
  InvalidToken: {
    title: 'The token is not one of the changes',
    explanation: 'after is the token of a change, next of a page, or now, given once.',
    remedy: 'Send the token to the letter as the server gave it, or after=now to begin with what changes from now on.',
    request: 'GET /Changes?after=altered',
    answer: about('after', 'after is the token of a change, next of a page, or now; this is none, or was altered.'),
  },
  InvalidWait: {
    title: 'wait is not a number of seconds',
    explanation: 'wait is an integer, given once. Values outside 0 to 30 are set to the nearest boundary.',
    remedy: 'Send a number from 0 to 30, or leave wait out to be answered at once.',
    request: 'GET /Changes?wait=long',
    answer: about('wait', 'wait must be an integer; 0 to 30 make a difference.'),
  },
  InvalidJson: {
    title: 'The body is not a JSON object, or rows of them',
    explanation: 'The body is empty, no JSON, not in UTF-8, or no object; where rows are created, no array or lines of them.',
    remedy: 'Send JSON, encoded in UTF-8: one object, or to create several rows, an array of objects.',
    request: 'PUT /Companies/1',
    body: `[${COMPANY}]`,
    answer: about('Body', 'The body must be a JSON object.'),
  },
  InvalidRows: {
    title: 'The body has no rows, or too many',
    explanation: 'A body has 1 to 1,000 rows, and counts as a request for each 100 rows or 200 KiB. Nothing was written.',
    remedy: 'Send the rows by several requests, each of up to 1,000.',
    request: 'POST /Companies',
    body: '[]',
    answer: about('Body', 'The body has no rows; it may have 1 to 1,000.'),
  },
  UnknownProperty: {
    title: 'The entity has no such property',
    explanation: 'Property names are those of the entity, in upper or lower case.',
    remedy: 'Take the name that the message suggests; leave out what the entity does not have.',
    request: 'POST /Companies',
    body: '{"Nmae": "Blue Moon"}',
    answer: fault('UnknownProperty', 'Nmae', 'Company has no property "Nmae". Did you mean Name?'),
  },
  DuplicateProperty: {
    title: 'A property is given twice',
    explanation: 'Two names of one body differ only by case; it is not clear which one counts.',
    remedy: 'Send the property once.',
    request: 'POST /Companies',
    body: '{"Name": "Blue Moon", "name": "Red Sun"}',
    answer: fault('DuplicateProperty', 'Name', 'Name is given twice, in names that differ by case.'),
  },
  InvalidValue: {
    title: 'A value does not fit its property',
    explanation: 'The value is not what the property takes. The message names the property, and what it allows.',
    remedy: 'Correct the value as the message says.',
    request: 'PATCH /Companies/1',
    body: '{"Enabled": "yes"}',
    answer: fault('InvalidValue', 'Enabled', 'Enabled must be true or false.'),
  },
  ValidationFailed: {
    title: 'The body has several faults',
    explanation: 'Details lists all of them, each with a code, a target and a message.',
    remedy: 'Correct each property that Details names.',
    request: 'POST /Absences',
    body: '{"Start": "2026-02-30T09:00:00Z", "Reason": 5}',
    answer: {
      Target: 'Body',
      Message: 'The body has 2 faults; Details lists them.',
      Details: [
        { Code: 'InvalidValue', Target: 'Start', Message: 'Start must be a date and time that exist.' },
        { Code: 'InvalidValue', Target: 'Reason', Message: 'Reason must be a text of at most 100 characters, or null.' },
      ],
    },
  },
})
