import { mix } from '../hash.ts';

/** The words of a text. */
function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

const FIRST = words(`
  Nord Blue Kepler Über Solar Quant Alpen Rio Søren Delta Lumen Ember Atlas Škoda Verde Polar Zenit
  Cobalt Hanse Ōmori Árbol Falke Iris Juno Krona Lotus Miró Nova Orbit Pixel Quarz Rhône`);
const SECOND = words(`
  works logic soft bau foods grid ware metrics care energie labs fleet pay cargo data tech media
  pharma steel wind cloud robotics textil optics farm bank air marine paper glass motors games`);
const FORM = [
  ' GmbH',
  ' Inc.',
  ' AG',
  ' Ltd',
  ' S.A.',
  ' B.V.',
  ' Oy',
  ' 株式会社',
  ' & Söhne KG',
  ' s.r.o.',
  '',
  ' Group',
] as const;
const TLD = ['com', 'de', 'io', 'co.uk', 'fr', 'nl', 'jp', 'fi', 'eu', 'ai', 'cz', 'net'] as const;
const INDUSTRIES = [
  'Software',
  'Logistics',
  'Food & Beverage',
  'Renewable Energy',
  'Medical Devices',
  'Construction',
  'Banking',
  'E-Commerce',
  'Automotive',
  'Media',
  'Textiles',
  'Chemicals',
  'Agriculture',
  'Aerospace',
  'Insurance',
  'Education',
] as const;
const PLACES = [
  ['DE', 'München', 48.137154, 11.576124],
  ['US', 'Austin', 30.267153, -97.743061],
  ['FR', 'Orléans', 47.902964, 1.909251],
  ['JP', '大阪', 34.693738, 135.502165],
  ['GB', 'Leeds', 53.800755, -1.549077],
  ['PL', 'Łódź', 51.759249, 19.455983],
  ['BR', 'São Paulo', -23.55052, -46.633308],
  ['CZ', 'Plzeň', 49.747741, 13.377525],
  ['SE', 'Malmö', 55.604981, 13.003822],
  ['IN', 'Pune', 18.52043, 73.856744],
  ['ES', 'Cádiz', 36.527061, -6.288596],
  ['GR', 'Αθήνα', 37.98381, 23.727539],
  ['NL', 'Utrecht', 52.090737, 5.12142],
  ['CA', 'Montréal', 45.501689, -73.567256],
  ['KR', '부산', 35.179554, 129.075642],
  ['FI', 'Espoo', 60.20549, 24.655899],
] as const;
const TECHNOLOGIES = words(`
  PostgreSQL Kubernetes SAP Salesforce React Snowflake Go Kafka HubSpot Terraform Rust Shopify
  Airflow Elixir Django Figma`);
const MARKETS = [
  'mid-sized manufacturers',
  'hospitals across Europe',
  'retail chains',
  'public utilities',
  'independent “Handwerker”',
  'airlines',
  'family-owned breweries',
  'fintech start-ups',
  'universities',
  'ship owners',
  'film studios',
  'municipalities',
  'online shops',
  'grain traders',
  'insurers',
  'game developers 🎮',
] as const;
const STRENGTHS = [
  'its planning platform cuts lead times by a third',
  'a patented process keeps waste below two percent',
  'service contracts make up most of the revenue',
  'it grew through four acquisitions since 2019',
  'the founders still own the majority',
  'customers praise the onboarding “within a day”',
  'hiring slowed in the last two quarters',
  'a new plant opens next spring\nin the second region',
] as const;

function pick<T>(from: readonly T[], hash: number, shift: number): T {
  // The tables are never empty, and the index is below their length.
  return from[(hash >>> shift) % from.length] as T;
}

function json(values: readonly string[]): readonly string[] {
  return values.map((value) => JSON.stringify(value).slice(1, -1));
}

const MARKETS_JSON = json(MARKETS);
const STRENGTHS_JSON = json(STRENGTHS);
const ASCII_FIRST = FIRST.map((word) =>
  word
    .normalize('NFD')
    .replaceAll(/[^A-Za-z]/g, '')
    .toLowerCase(),
);
const PLACES_JSON = PLACES.map(
  ([country, city, lat, lon]) =>
    `"country":"${country}","location":{"city":"${city}","country":"${country}","lat":${lat},"lon":${lon}}`,
);

/** Domain of a company, from its hash. */
export function companyDomain(company: number): string {
  return `${pick(ASCII_FIRST, company, 0)}${pick(SECOND, company, 5)}${company % 9973}.${pick(TLD, company, 10)}`;
}

/** Members of a JSON object that describe a company: some 250 bytes. */
export function companyMembers(company: number): string {
  const more = mix(company, 1);
  const domain = companyDomain(company);
  const employees = more % 7 === 0 ? 'null' : String(3 + (more % 977) * (1 + (company % 29)));
  return (
    `"name":"${pick(FIRST, company, 0)}${pick(SECOND, company, 5)}${pick(FORM, company, 14)}",` +
    `"url":"https://www.${domain}/","domain":"${domain}",` +
    `"industry":"${pick(INDUSTRIES, more, 3)}","employee_count":${employees},` +
    pick(PLACES_JSON, more, 9)
  );
}

/** Members that only a completed research job has: some 450 bytes. */
export function researchMembers(company: number): string {
  const more = mix(company, 2);
  const domain = companyDomain(company);
  const revenue = 100_000 + (more % 90_000_000);
  return (
    `"founded":${1890 + (more % 135)},"revenue_usd":${revenue}.${10 + (more % 90)},` +
    `"growth_rate":${more % 2 === 0 ? '-' : ''}0.${1 + (more % 9999)},"public":${more % 11 === 0},` +
    `"technologies":["${pick(TECHNOLOGIES, more, 2)}","${pick(TECHNOLOGIES, more, 6)}","${pick(TECHNOLOGIES, more, 11)}"],` +
    `"summary":"A supplier to ${pick(MARKETS_JSON, more, 4)} and ${pick(MARKETS_JSON, more, 12)}: ` +
    `${pick(STRENGTHS_JSON, more, 8)}, and ${pick(STRENGTHS_JSON, more, 17)}.",` +
    `"contacts":[{"name":null,"role":"CEO","email":"ceo@${domain}"},{"name":"A. ${pick(FIRST, more, 20)}","role":"CFO","email":null}],` +
    `"sources":[{"url":"https://${domain}/about","weight":0.75},{"url":"https://register.example/${more}","weight":0.25}]`
  );
}
