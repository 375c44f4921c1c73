// Companies, at /Companies. Employees refer to them and copy their names.
import { boolean, defineEntity, identity, text } from '../model/entity.ts'

export default defineEntity('Company', {
  id: identity(),
  name: text(),
  enabled: boolean(),
})
