import { answerJson, startHost, type Answer, type WebhookHost } from '../../webhook/webhook-host.js';

/** A host on loopback whose answer can be changed while it runs. */
export type JsonHost = Pick<WebhookHost, 'received' | 'port' | 'stop'> & {
  readonly origin: string;
  answer(next: Answer): void;
  /** Answers this text with HTTP 200. */
  say(body: string): void;
};

export async function startJsonHost(): Promise<JsonHost> {
  let current: Answer = answerJson({});
  const host = await startHost((request, response) => current(request, response));
  return {
    received: host.received,
    port: host.port,
    origin: `http://127.0.0.1:${host.port}`,
    answer: (next) => {
      current = next;
    },
    say: (body) => {
      current = (_request, response) => response.writeHead(200).end(body);
    },
    stop: () => host.stop(),
  };
}
