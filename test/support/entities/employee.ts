export { default } from '../../../src/entities/employee.ts'
