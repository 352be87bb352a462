import type { JsonSchema } from '../../../core/schema/json-schema.js';

export const text: JsonSchema = { type: 'string' };
export const textOrNull: JsonSchema = { type: ['string', 'null'] };
export const time: JsonSchema = { type: 'string', format: 'date-time', description: 'UTC.' };
export const timeOrNull: JsonSchema = { type: ['string', 'null'], format: 'date-time', description: 'UTC.' };
export const count: JsonSchema = { type: 'integer', minimum: 0 };
export const countOrNull: JsonSchema = { type: ['integer', 'null'], minimum: 0 };
export const integer: JsonSchema = { type: 'integer' };
export const integerOrNull: JsonSchema = { type: ['integer', 'null'] };
export const wei: JsonSchema = { type: 'string', pattern: '^-?\\d+$' };
export const weiOrNull: JsonSchema = { type: ['string', 'null'], pattern: '^-?\\d+$' };
/** Not rounded, so that sums stay exact; the books round them. */
export const dollarsOrNull: JsonSchema = {
  type: ['string', 'null'],
  description: 'The same in US dollars at usdPerCoin, as decimal text; null without a price.',
};
export const address: JsonSchema = { type: 'string', pattern: '^0x[0-9a-f]{40}$' };
export const addressOrNull: JsonSchema = { type: ['string', 'null'], pattern: '^0x[0-9a-f]{40}$' };
export const hashOrNull: JsonSchema = { type: ['string', 'null'], pattern: '^0x[0-9a-f]{64}$' };
export const uuid: JsonSchema = { type: 'string', format: 'uuid' };
