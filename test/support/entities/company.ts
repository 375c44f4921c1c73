export { default } from '../../../src/entities/company.ts'
