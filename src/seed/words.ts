// Words for names and texts of generated rows, in many languages, so that sorting by names can be tried.

export const FIRST_NAMES =
  `Ada Agnieszka Ahmed Aisha Alan Alejandra Amélie Ana Anders André Anna Antonio Arjun Astrid Beatriz Ben Björn Camille
  Carlos Catarina Chen Chiara Chloë Clara Conor Daniel David Diego Dmitri Eleni Elif Élodie Emeka Emma Erik Eva Fatima Felix
  Fernando Francesca François Freya Gabriel Grace Hana Hannah Hans Hiroshi Ibrahim Ines Ingrid Isabel Ivan Jan Jana Jens Joanna
  João John José Julia Jürgen Kateřina Katherine Kenji Kofi Lars Laura Léa Leila Li Liam Linnéa Lucía Łukasz Maja Marco María
  Marta Martin Mary Matteo Maximilian Mei Mia Michael Miguel Milan Mohamed Nadia Naomi Ngozi Niamh Nils Noah Nora Olga Oliver
  Olumide Óscar Paolo Patrick Paul Paula Pedro Petra Pierre Priya Rachel Rafael Ravi Rosa Ruth Samuel Sanne Sara Seán Sofía
  Søren Stefan Susan Sven Tariq Thomas Tomás Ulla Uma Viktor Wanjiru Wei William Xavier Yara Yuki Yusuf Zoë Zsófia`.split(/\s+/)

export const NICKNAMES = `Alex Ali Andy Bea Ben Charlie Chris Fran Jo Kim Lu Max Mika Nico Pepe Robin Sam Sasha Toni Vik`.split(
  ' ',
)

export const LAST_NAMES =
  `Abbott Adeyemi Åberg Ahmed Almeida Álvarez Andersson Baker Bauer Becker Bennett Berg Bianchi Byrne Carlsen Carvalho Castro
  Chatterjee Chen Clarke Cohen Costa Čech Da_Silva Davies de_Jong de_Vries Diallo Dubois Dupont Edwards Eriksson Evans
  Fernández Ferrari Fischer Fontaine Fournier Fraser García Garnier Gonçalves González Gray Green Gruber Gupta Hall Hansen
  Haraldsson Hoffmann Horvat Hughes Ibrahim Ito Iyer Jansen Jensen Johansson Jones Kaya Keller Khan Kim King Klein Kovács
  Kowalski Kumar Lambert Larsen Laurent Lee Lefèvre Lehmann Lewis Lindqvist López Maathai Marino Martin Martínez McCarthy
  Mehta Meyer Mitchell Moreau Müller Mwangi Nagy Nakamura Nielsen Novák Nowak Núñez O'Brien O'Connor Öberg Okafor Okonkwo
  Oliveira Olsen Papadopoulos Parker Patel Pereira Pérez Petrov Petit Popescu Ramírez Reid Ricci Rodríguez Romano Rossi
  Ruiz Russo Sánchez Santos Sato Schmidt Schneider Schröder Sharma Silva Singh Smith Somerville Sørensen Suzuki Tanaka Taylor
  Thompson Torres Turner van_Dijk van_den_Berg Varga Virtanen Vogel Wagner Walker Watanabe Weber White Williams Wilson
  Wójcik Wong Wright Yılmaz Young Zhang Zimmermann Žižek`
    .split(/\s+/)
    .map((name) => name.replaceAll('_', ' '))

export const COMPANY_STARTS =
  `Alder Amber Analytical Arctic Atlas Aurora Baltic Beacon Birch Blue Bright Canal Cedar Central Clear Cobalt Copper Coral
  Crescent Crown Delta Eastern Elm Ember Falcon Fjord Forest Garnet Glacier Golden Granite Green Harbour Hazel Highland Horizon
  Iron Island Ivory Juniper Lake Lindqvist Lunar Maple Marble Meridian Mill Mountain Nordic Northern Oak Ocean Olive Orbital
  Pearl Pine Pioneer Polar Quarry Rapid Red River Rowan Royal Sable Sapphire Silver Solar Southern Spring Station Sterling
  Stone Summit Terra Tidal Timber Union Upland Valley Velvet Vertex Western White Willow Winter Zenith`.split(/\s+/)

export const COMPANY_TRADES =
  `Airways Analytics Bakeries Biotech Books Brewing Capital Catering Chemicals Clinics Coatings Components Construction
  Consulting Couriers Dairies Data Design Devices Diagnostics Dynamics Electric Energy Engines Engineering Farms Fashion Films
  Finance Foods Foundry Freight Furniture Games Gardens Glass Grid Health Homes Hotels Imaging Insurance Interiors Labs Leather
  Legal Lighting Logistics Machines Media Metals Mining Motors Networks Optics Packaging Paper Partners Pharma Plastics Press
  Printing Properties Publishing Rail Recycling Research Retail Robotics Security Semiconductors Shipping Software Steel
  Studios Systems Telecom Textiles Tools Toys Trading Travel Turbines Utilities Ventures Vision Water Works`.split(/\s+/)

export const COMPANY_FORMS = ['', '', '', ' AB', ' & Co', ' GmbH', ' Group', ' Holding', ' Ltd', ' plc', ' SA', ' & Sons']

export const LOCATIONS =
  `Amsterdam Athens Barcelona Bergen Berlin Bilbao Bristol Brussels Bucharest Budapest Cardiff Chennai Copenhagen Dublin
  Edinburgh Gdańsk Geneva Gothenburg Hamburg Helsinki Istanbul Kraków Lagos Lisbon Ljubljana London Lyon Madrid Malmö
  Manchester Marseille Milan Munich Nairobi Oslo Paris Porto Prague Reykjavík Riga Rome Rotterdam Sofia Stockholm Tallinn Turin
  Utrecht Valencia Vienna Vilnius Warsaw Wrocław Zagreb Zürich`.split(/\s+/)

export const DIVISIONS = ['Corporate', 'Europe', 'Industry', 'International', 'Nordics', 'Products', 'Services']

/** Jobs by department. */
export const JOBS: readonly (readonly [department: string, jobs: readonly string[]])[] = [
  ['Engineering', ['Engineer', 'Software Engineer', 'Test Engineer', 'Architect', 'Engineering Lead']],
  ['Operations', ['Planner', 'Dispatcher', 'Operator', 'Shift Lead', 'Site Lead', 'Maintenance Technician']],
  ['Sales', ['Account Executive', 'Sales Assistant', 'Key Account Lead', 'Sales Engineer']],
  ['Customer Service', ['Service Agent', 'Service Lead', 'Support Specialist']],
  ['Finance', ['Accountant', 'Controller', 'Payroll Specialist', 'Auditor']],
  ['People', ['Recruiter', 'People Partner', 'Trainer']],
  ['Marketing', ['Copywriter', 'Brand Specialist', 'Campaign Lead']],
  ['Research', ['Researcher', 'Data Scientist', 'Laboratory Assistant']],
  ['Legal', ['Counsel', 'Paralegal', 'Compliance Officer']],
  ['Logistics', ['Driver', 'Warehouse Worker', 'Forklift Operator', 'Fleet Planner']],
  ['Facilities', ['Caretaker', 'Receptionist', 'Electrician']],
]
