import {
  date,
  decimal,
  defineEntity,
  identity,
  instant,
  integer,
  json,
  oneOf,
  reference,
  text,
  uuid,
} from '../../src/model/entity.ts'

/** An entity with kinds and rules that those of the specification do not have. */
export const lease = defineEntity('Lease', {
  id: identity(),
  code: text({ required: true, unique: true }),
  state: oneOf(['Asked', 'Given up']),
  use: oneOf(['Office', 'Storage'], { required: true }),
  from: date({ required: true }),
  until: date(),
  desks: integer({ min: 0 }),
  floor: integer({ required: true }),
  employeeId: reference('Employee', { required: true }),
  signed: instant({ required: true }),
  rent: decimal(2, { required: true }),
  deposit: decimal(2, { min: -1_000 }),
  token: uuid(),
  device: uuid({ required: true }),
  settings: json(),
  terms: json({ required: true }),
})
