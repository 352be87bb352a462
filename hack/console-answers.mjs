// Writes console/src/answers.ts: the types of those answers that the console names as Answers['<operationId>'], from the rows that
// OpenAPI is made of. With `--check` it writes nothing and fails when the file is not current.
//
//   node hack/console-answers.mjs [--check] [FOLDER]      FOLDER: another folder than the project's, for tests
import { globSync } from 'node:fs';
import { documentEndpoints, manageEndpoints } from '../dist/server/dashboard/endpoints.js';
import { bring, readText, root } from './generated.mjs';

const file = 'console/src/answers.ts';
const schemas = new Map(
  [...manageEndpoints, ...documentEndpoints].map(({ operationId, schema }) => [operationId, schema]),
);

const sources = globSync('console/src/**/*.{ts,tsx}', { cwd: root }).filter((path) => path !== file);
const named = sources.flatMap((path) =>
  [...readText(path).matchAll(/Answers\['(\w+)'\]/g)].map(([, id]) => id),
);
const members = [...new Set(named)].sort().map((id) => {
  if (!schemas.has(id))
    throw new Error(`console/src names Answers['${id}'], and no endpoint has that operationId`);
  return `  readonly ${id}: ${typeOf(schemas.get(id), '  ')};\n`;
});
const text = `// Written by \`make generate\` from what the endpoints describe: do not edit.
/** What endpoints answer, by operationId. */
export type Answers = {
${members.join('')}};
`;

bring(file, text);

function typeOf(schema, indent) {
  if ('const' in schema) return literal(schema.const);
  if (schema.enum) return union(schema.enum.map(literal));
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return union(alternatives.map((one) => typeOf(one, indent)));
  if (Array.isArray(schema.type))
    return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)));
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly ${element(schema.items, indent)}[]`;
    case 'object':
      return objectOf(schema, indent);
    default:
      return 'unknown';
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }, indent) {
  const names = Object.keys(properties);
  if (names.length === 0)
    return `Readonly<Record<string, ${additionalProperties ? typeOf(additionalProperties, indent) : 'unknown'}>>`;
  const fields = names.map((name) => {
    const optional = required.includes(name) ? '' : '?';
    return `${indent}  readonly ${name}${optional}: ${typeOf(properties[name], `${indent}  `)};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

function union(types) {
  return [...new Set(types)].join(' | ');
}

function element(schema, indent) {
  const type = typeOf(schema, indent);
  return type.includes(' | ') && schema.type !== 'object' ? `(${type})` : type;
}

function literal(value) {
  return typeof value === 'string' ? `'${value}'` : String(value);
}
