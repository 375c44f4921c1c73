// Meanings of headers of other programs and languages. They are only proposals: `/explore` shows where each column goes, and the
// command `import` prints options to copy.
import { plainHeader } from './columns.ts'

/**
 * Names of properties, each with the headers that German, French, Dutch, Spanish, Italian, Polish, Portuguese and English files
 * use for it.
 */
const WORDS: readonly (readonly [property: string, headers: readonly string[]])[] = [
  [
    'EmployeeNumber',
    [
      ...['Personalnummer', 'PersonalNr', 'PersNr', 'Personal-Nr.', 'Mitarbeiternummer', 'MitarbeiterNr', 'Matricule'],
      ...['Personeelsnummer', 'Medewerkernummer', 'Número de empleado', 'Matricola', 'Numer pracownika', 'Matrícula'],
      ...['Staff number', 'Staff no', 'Employee no', 'Emp no', 'Emp ID', 'Personnel number', 'Payroll number'],
    ],
  ],
  ['FirstName', ['Vorname', 'Prénom', 'Voornaam', 'Nombre', 'Nome', 'Imię', 'Given name', 'Forename']],
  [
    'LastName',
    [
      ...['Nachname', 'Familienname', 'Nom', 'Nom de famille', 'Achternaam', 'Apellido', 'Apellidos', 'Cognome', 'Nazwisko'],
      ...['Sobrenome', 'Surname', 'Family name'],
    ],
  ],
  ['Title', ['Anrede', 'Civilité', 'Aanhef']],
  ['Name', ['Firmenname', 'Nom', 'Naam', 'Nombre', 'Nome', 'Nazwa']],
  ['Company', ['Firma', 'Unternehmen', 'Gesellschaft', 'Société', 'Entreprise', 'Bedrijf', 'Empresa', 'Azienda', 'Società']],
  ['Department', ['Abteilung', 'Service', 'Département', 'Afdeling', 'Departamento', 'Reparto', 'Dział', 'Dept']],
  [
    'JobTitle',
    [
      ...['Position', 'Funktion', 'Stelle', 'Poste', 'Fonction', 'Functie', 'Puesto', 'Cargo', 'Mansione', 'Stanowisko'],
      ...['Designation', 'Job role'],
    ],
  ],
  ['Location', ['Standort', 'Ort', 'Site', 'Lieu', 'Vestiging', 'Standplaats', 'Ubicación', 'Sede', 'Lokalizacja', 'Office']],
  ['Manager', ['Vorgesetzter', 'Vorgesetzte', 'Responsable', 'Leidinggevende', 'Responsabile', 'Przełożony', 'Supervisor']],
  ['WorkEmail', ['E-Mail', 'E-Mail-Adresse', 'Mail', 'Courriel', 'Correo electrónico', 'Correo', 'Email address']],
  ['WorkPhone', ['Telefon', 'Telefonnummer', 'Téléphone', 'Telefoon', 'Teléfono', 'Telefono', 'Telefone', 'Phone']],
  ['WorkMobile', ['Handy', 'Mobil', 'Mobiltelefon', 'Portable', 'Mobiel', 'Móvil', 'Cellulare', 'Mobile']],
  [
    'Started',
    [
      ...['Eintritt', 'Eintrittsdatum', 'Date d’entrée', 'Date d’embauche', 'In dienst', 'Datum in dienst', 'Fecha de ingreso'],
      ...[
        'Fecha de alta',
        'Data di assunzione',
        'Data zatrudnienia',
        'Data de admissão',
        'Hire date',
        'Date hired',
        'Start date',
      ],
      ...['Joining date', 'Date of joining', 'Join date'],
    ],
  ],
  ['EmploymentEnd', ['Austritt', 'Austrittsdatum', 'Date de sortie', 'Uit dienst', 'Fecha de baja', 'Termination date']],
  [
    'Start',
    ['Von', 'Beginn', 'Ab', 'Début', 'Date de début', 'Van', 'Desde', 'Inizio', 'Dal', 'Od', 'Início', 'From', 'Start date'],
  ],
  ['End', ['Bis', 'Ende', 'Fin', 'Date de fin', 'Tot', 'Hasta', 'Fine', 'Al', 'Do', 'Até', 'To', 'Until', 'End date']],
  [
    'Period.Days',
    ['Tage', 'Anzahl Tage', 'Jours', 'Nombre de jours', 'Dagen', 'Días', 'Giorni', 'Dni', 'Dias', 'Number of days'],
  ],
  ['Type', ['Art', 'Typ', 'Abwesenheitsart', 'Soort', 'Tipo', 'Rodzaj', 'Leave type']],
  ['Reason', ['Grund', 'Motif', 'Reden', 'Motivo', 'Powód']],
]

const names = new Map<string, string[]>()
for (const [property, headers] of WORDS)
  for (const header of headers) {
    const plain = plainHeader(header)
    names.set(plain, [...(names.get(plain) ?? []), property])
  }

/** Returns the properties that a header may mean, the most likely one first; an empty list if the header is not known. */
export function meaningsOf(header: string): readonly string[] {
  return names.get(plainHeader(header)) ?? []
}
