import { beforeAll, expect, test } from 'bun:test'
import { declaredCompanies } from '../support/declaredCompanies.ts'
import { useServer } from '../support/start.ts'

// Violating a constraint of a project's own migration is 409 Conflict for each kind of write; a declared one has its own code.

const server = useServer({ entitiesDir: declaredCompanies().path, hasForeignRows: true })
beforeAll(async () => {
  await server.sql.unsafe(`
    alter table company add constraint company_name_taken unique (name);
    alter table company add constraint own_check check (not (name = 'Checked' and enabled));
    create unique index own_index on company (enabled) where name like 'One %';
    create table own_table (company_id bigint not null references company (id) on delete set null);
    insert into company (name, enabled) values ('Checked', false), ('One of all', false), ('Kept', false);
    insert into own_table values (3)`)
})

for (const key of [undefined, 'own'])
  test.each([
    ['POST', '/Companies', { Name: 'One more' }],
    ['PUT', '/Companies/1', { Name: 'Checked', Enabled: true }],
    ['PATCH', '/Companies/1', { Enabled: true }],
    ['DELETE', '/Companies/3', undefined],
  ])(
    `%s %s of %j, which violates a constraint of the operator, is 409 Conflict${key ? ' under an Idempotency-Key, too' : ''}`,
    async (method, path, body) => {
      const headers: Record<string, string> = key ? { 'Idempotency-Key': `${method}-${key}` } : {}
      for (const _ of [1, 2]) {
        const { status, body: answer } = await server.send(method, path, body, headers)
        expect([status, answer.Error.Code]).toEqual([409, 'Conflict'])
      }
    },
  )

test('a taken name is 409 AlreadyExists, also if the operator has added a constraint to the table', async () => {
  const { status, body } = await server.send('PUT', '/Companies/1', { Name: 'Kept', Enabled: true })
  expect([status, body.Error.Code, body.Error.Target]).toEqual([409, 'AlreadyExists', 'Name'])
})

test('a write that a trigger of the operator skips is tried three times, and is then 409 Conflict', async () => {
  await server.sql.unsafe(`
    create sequence attempt;
    create function skip() returns trigger language plpgsql as $$ begin perform nextval('attempt'); return null; end $$;
    create trigger skip before insert on company for each row when (new.name = 'skipped') execute function skip()`)
  const { status, body } = await server.post('/Companies', { Name: 'skipped' })
  expect([status, body.Error.Code]).toEqual([409, 'Conflict'])
  expect((await server.sql`select last_value::int as attempts from attempt`)[0]?.attempts).toBe(3)
})
