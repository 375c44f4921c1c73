// The people of the example: a director, three managers and eight employees, as rows of the API and as accounts at the provider.

export interface Person {
  /** Name of the account: `sub` of the person's tokens. */
  readonly account: string
  readonly title: string
  readonly firstName: string
  readonly lastName: string
  readonly knownAs?: string
  /** Null: no row is hers when she signs in. */
  readonly workEmail: string | null
  readonly company: string
  readonly department: string
  readonly location: string
  readonly jobTitle: string
  readonly jobLevel: 'Director' | 'Manager' | 'Employee'
  readonly type: 'FullTime' | 'PartTime'
  /** Years since her first day. */
  readonly years: number
  /** Account of her manager. */
  readonly manager: string | null
  /** Groups of the provider: roles of the roles file may ask for them. */
  readonly groups: readonly string[]
  /** What she can do in Roster, in a sentence for those who choose whom to sign in as. */
  readonly may: string
}

export const COMPANIES = [
  { Name: 'Nordlicht Logistics', Enabled: true },
  { Name: 'Nordlicht Services', Enabled: true },
  { Name: 'Nordlicht Ventures', Enabled: false },
] as const

const EMPLOYEE = 'Asks for leave, and cancels what nobody has decided yet.'

export const PEOPLE: readonly Person[] = [
  {
    account: 'ingrid',
    title: 'Ms',
    firstName: 'Ingrid',
    lastName: 'Sørensen',
    workEmail: 'ingrid.sorensen@nordlicht.example',
    company: 'Nordlicht Logistics',
    department: 'Management',
    location: 'Hamburg',
    jobTitle: 'Director',
    jobLevel: 'Director',
    type: 'FullTime',
    years: 14,
    manager: null,
    groups: [],
    may: 'Decides the leave of the three managers. She has no manager, so HR decides hers.',
  },
  {
    account: 'olena',
    title: 'Ms',
    firstName: 'Олена',
    lastName: 'Коваленко',
    workEmail: 'olena.kovalenko@nordlicht.example',
    company: 'Nordlicht Logistics',
    department: 'Engineering',
    location: 'Hamburg',
    jobTitle: 'Head of Engineering',
    jobLevel: 'Manager',
    type: 'FullTime',
    years: 9,
    manager: 'ingrid',
    groups: [],
    may: 'Decides the leave of Bo, أمينة and Jürgen. Asks Ingrid for her own.',
  },
  {
    account: 'tomas',
    title: 'Mr',
    firstName: 'Tomás',
    lastName: 'Ferreira de Almeida',
    workEmail: 'tomas.ferreira@nordlicht.example',
    company: 'Nordlicht Services',
    department: 'Sales',
    location: 'Porto',
    jobTitle: 'Head of Sales',
    jobLevel: 'Manager',
    type: 'FullTime',
    years: 6,
    manager: 'ingrid',
    groups: [],
    may: 'Decides the leave of Δημήτρης, Mina and Zoë. Asks Ingrid for his own.',
  },
  {
    account: 'grace',
    title: 'Ms',
    firstName: 'Grace',
    lastName: 'Wanjiru',
    workEmail: 'grace.wanjiru@nordlicht.example',
    company: 'Nordlicht Logistics',
    department: 'People and Operations',
    location: 'Nairobi',
    jobTitle: 'Head of People and Operations',
    jobLevel: 'Manager',
    type: 'FullTime',
    years: 5,
    manager: 'ingrid',
    groups: [],
    may: 'Decides the leave of Noor and Sam. Asks Ingrid for her own.',
  },
  {
    account: 'bo',
    title: 'Mr',
    firstName: 'Bo',
    lastName: 'Li',
    workEmail: 'bo.li@nordlicht.example',
    company: 'Nordlicht Logistics',
    department: 'Engineering',
    location: 'Hamburg',
    jobTitle: 'Software Engineer',
    jobLevel: 'Employee',
    type: 'FullTime',
    years: 2,
    manager: 'olena',
    groups: [],
    may: EMPLOYEE,
  },
  {
    account: 'amina',
    title: 'Ms',
    firstName: 'أمينة',
    lastName: 'الخطيب',
    workEmail: 'amina.alkhatib@nordlicht.example',
    company: 'Nordlicht Logistics',
    department: 'Engineering',
    location: 'Hamburg',
    jobTitle: 'Data Engineer',
    jobLevel: 'Employee',
    type: 'PartTime',
    years: 3,
    manager: 'olena',
    groups: [],
    may: EMPLOYEE,
  },
  {
    account: 'juergen',
    title: 'Dr',
    firstName: 'Jürgen',
    lastName: 'Weiß',
    workEmail: 'juergen.weiss@nordlicht.example',
    company: 'Nordlicht Logistics',
    department: 'Engineering',
    location: 'Lübeck',
    jobTitle: 'Test Engineer',
    jobLevel: 'Employee',
    type: 'FullTime',
    years: 11,
    manager: 'olena',
    groups: [],
    may: EMPLOYEE,
  },
  {
    account: 'dimitris',
    title: 'Mr',
    firstName: 'Δημήτρης',
    lastName: 'Παπαδόπουλος',
    workEmail: 'dimitris.papadopoulos@nordlicht.example',
    company: 'Nordlicht Services',
    department: 'Sales',
    location: 'Athens',
    jobTitle: 'Account Manager',
    jobLevel: 'Employee',
    type: 'FullTime',
    years: 4,
    manager: 'tomas',
    groups: [],
    may: EMPLOYEE,
  },
  {
    account: 'mina',
    title: 'Ms',
    firstName: 'Wilhelmina',
    lastName: 'Vandenbroucke-Konstantinopolitanska',
    knownAs: 'Mina',
    workEmail: 'mina.vandenbroucke-konstantinopolitanska@nordlicht.example',
    company: 'Nordlicht Services',
    department: 'Sales',
    location: 'Antwerp',
    jobTitle: 'Key Account Manager for Public Institutions',
    jobLevel: 'Employee',
    type: 'FullTime',
    years: 7,
    manager: 'tomas',
    groups: [],
    may: EMPLOYEE,
  },
  {
    account: 'zoe',
    title: 'Ms',
    firstName: 'Zoë',
    lastName: 'Ní Bhriain',
    workEmail: 'zoe.nibhriain@nordlicht.example',
    company: 'Nordlicht Services',
    department: 'Sales',
    location: 'Galway',
    jobTitle: 'Sales Assistant',
    jobLevel: 'Employee',
    type: 'PartTime',
    years: 1,
    manager: 'tomas',
    groups: [],
    may: EMPLOYEE,
  },
  {
    account: 'noor',
    title: 'Ms',
    firstName: 'Noor',
    lastName: 'de Vries',
    workEmail: 'noor.devries@nordlicht.example',
    company: 'Nordlicht Logistics',
    department: 'People and Operations',
    location: 'Rotterdam',
    jobTitle: 'HR Partner',
    jobLevel: 'Employee',
    type: 'FullTime',
    years: 8,
    manager: 'grace',
    groups: ['hr'],
    may: 'HR: sees all employees and absences, changes employees, and decides any request but her own.',
  },
  {
    account: 'sam',
    title: 'Mr',
    firstName: 'Sam',
    lastName: 'Okafor',
    workEmail: null,
    company: 'Nordlicht Logistics',
    department: 'People and Operations',
    location: 'Rotterdam',
    jobTitle: 'Warehouse Worker',
    jobLevel: 'Employee',
    type: 'FullTime',
    years: 0,
    manager: 'grace',
    groups: [],
    may: 'Nothing: his row has no e-mail address, so Roster cannot tell who he is. See what it says then.',
  },
]

/** A person's name as Roster shows it. */
export function nameOf({ knownAs, firstName, lastName }: Person): string {
  return `${knownAs ?? firstName} ${lastName}`
}
