import { describe, expect, test } from '@jest/globals';
import { readAltoLine } from '../../standalone/bundler/bundler.js';

describe('a line of the bundler', () => {
  test('says on which port it listens', () => {
    const line = '{"level":"info","time":1,"module":"rpc","msg":"Server listening at http://0.0.0.0:40483"}';
    expect(readAltoLine(line)).toEqual({ kind: 'listening', port: 40_483 });
  });

  test.each([
    '{"level":"info","module":"rpc","data":"{}","method":"eth_chainId","msg":"incoming request"}',
    '',
  ])('is noise: %s', (line) => {
    expect(readAltoLine(line)).toEqual({ kind: 'noise' });
  });

  test.each([
    '{"level":"error","module":"root","err":{"code":"EADDRINUSE"},"msg":"Unhandled Promise Rejection"}',
    '{"level":"warn","msg":"Server listening at http://0.0.0.0:1, said a caller"}',
    ' × Error: missing option',
    'null',
  ])('is a problem: %s', (line) => {
    expect(readAltoLine(line)).toEqual({ kind: 'problem', text: line });
  });

  test('is cut when it is long', () => {
    expect(readAltoLine('x'.repeat(5_000))).toEqual({ kind: 'problem', text: 'x'.repeat(1_000) });
  });
});
