import { describe, expect, it } from 'vitest';
import { parseDatabaseUrl, parsePublicUrl, parseServiceUrl } from './urls.ts';

describe('parseServiceUrl', () => {
  it.each([
    ['https://api.example.com', 'https://api.example.com'],
    ['https://api.example.com/', 'https://api.example.com'],
    ['https://api.example.com/v1', 'https://api.example.com'],
    ['https://api.example.com/v1//', 'https://api.example.com'],
    ['https://example.com/research/v1/', 'https://example.com/research'],
    ['http://localhost:8090', 'http://localhost:8090'],
    ['http://127.1.2.3:8090/v1', 'http://127.1.2.3:8090'],
    ['http://[::1]:8090', 'http://[::1]:8090'],
  ])('reads %s', (text, url) => expect(parseServiceUrl(text)).toBe(url));

  it.each([
    ['http://api.example.com', 'Use https://'],
    ['http://127.0.0.1.example.com', 'Use https://'],
    ['http://localhost.example.com', 'Use https://'],
    ['api.example.com', 'is not a URL'],
    ['ftp://api.example.com', 'is not a URL'],
    ['https://', 'is not a URL'],
    ['https://user:hunter2@api.example.com', 'must not contain a user or password'],
    ['https://api.example.com?x=1', 'must not contain ?'],
  ])('refuses %s', (text, message) => expect(() => parseServiceUrl(text)).toThrow(message));
});

describe('parsePublicUrl', () => {
  it('keeps the path and drops the trailing slash', () => {
    expect(parsePublicUrl('https://example.com/hooks/')).toBe('https://example.com/hooks');
  });
});

describe('parseDatabaseUrl', () => {
  it.each([
    'postgres://',
    'postgres:///mirror?host=/var/run/postgresql',
    'postgresql://user:p%40ss@db.example.com:6432/mirror?sslmode=verify-full',
    'postgres://user@/mirror?host=/tmp',
    'postgres://[::1]:5432/mirror',
    'postgres://db/mirror?channel_binding=prefer&gssencmode=disable&sslcompression=0&sslsni=1&keepalives=0',
    'postgres://db/mirror?sslmode=require&sslnegotiation=direct&ssl_min_protocol_version=TLSv1.3&sslcrl=/crl',
  ])('takes %s', (text) => expect(parseDatabaseUrl(text).reveal()).toBe(text));

  it.each([
    ['mysql://db.example.com/mirror', 'is not a Postgres connection URL'],
    ['host=db user=u', 'is not a Postgres connection URL'],
    ['postgres://user:hun#ter2@db/mirror', 'percent-encode special characters'],
    ['postgres://db:99999/mirror', 'percent-encode special characters'],
    ['postgres://db/mirror?sslmode=strict', 'sslmode "strict" is not one of disable, allow'],
    ['postgres://db/mirror?channel_binding=require', 'channel_binding is not supported'],
    ['postgres://db/mirror?sslmode=require&require_auth=scram-sha-256', 'require_auth is not supported'],
    ['postgres://db/mirror?gssencmode=require', 'gssencmode is not supported'],
    ['postgres://db/mirror?sslcrldir=/crl', 'sslcrldir is not supported. Name one file in sslcrl instead.'],
    ['postgres://db/mirror?hostaddr=10.0.0.1', 'hostaddr is not supported'],
    ['postgres://db/mirror?requirepeer=postgres', 'requirepeer is not supported'],
    ['postgres://db/mirror?service=prod', 'service is not supported'],
    ['postgres://db/mirror?sslmod=require', 'has the unknown parameter sslmod (did you mean sslmode?)'],
    [
      'postgres://user:hun@db/mirror?application_name=x&ssl=true',
      'has the unknown parameter ssl. The known ones with ssl… are sslmode',
    ],
  ])('refuses %s without quoting a password', (text, message) => {
    expect(() => parseDatabaseUrl(text)).toThrow(message);
    expect(() => parseDatabaseUrl(text)).not.toThrow('hun');
  });
});
