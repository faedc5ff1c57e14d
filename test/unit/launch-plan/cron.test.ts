import { describe, expect, it } from 'vitest';
import { cronProblem } from '../../../services/launch-plan/registration/schedule.js';

describe('a cron expression', () => {
  it.each([
    '* * * * *',
    '*/10 0-6,22 1 * 1-5',
    '0 9 ? JAN-MAR MON',
    '0/15 * * * *',
    '*/90 */48 */40 */13 */9',
    '0 0 * * sat-sun,?/2',
    '@hourly',
    '@midnight',
    'hourly',
    'hours',
    'annually',
    'CRON_TZ=Europe/Berlin days',
    '@every 1h',
    '@every 1h30m',
    '@every 1.5h',
    'TZ=UTC @daily',
    'CRON_TZ=Europe/Berlin 0 6 * * *',
  ])('may be %j', (text) => expect(cronProblem(text)).toBeUndefined());

  it.each([
    '',
    'at breakfast',
    '0 0 12 * * ?',
    '* * * *',
    '61 * * * *',
    '0 24 * * *',
    '5-1 * * * *',
    '*/0 * * * *',
    '/5 * * * *',
    '**/5 * * * *',
    '1- * * * *',
    '1,,2 * * * *',
    'JAN * * * *',
    '0 0 * * MONDAY',
    '0 0 L * *',
    '0 0 * * MON#1',
    '0 0 1W * *',
    '@reboot',
    '@hours',
    'minutes',
    'toString',
    '@every',
    '@every 5',
    '@every 0s',
    '@every -1h',
    'TZ=Nowhere/Land 0 6 * * *',
    'TZ=UTC',
    `${'1,'.repeat(1_000)}1 * * * *`,
  ])('may not be %j', (text) => expect(cronProblem(text)).toEqual(expect.any(String)));

  it.each([
    ['60 * * * *', '60 is outside of 0 to 59 in the field of the minute'],
    ['0 0 0 * *', '0 is outside of 1 to 31 in the field of the day of the month'],
    ['0 0 * 13 *', '13 is outside of 1 to 12 in the field of the month'],
    ['0 0 * * fri-mon', 'beginning of range is beyond its end: fri-mon'],
    ['0 0 L * *', 'failed to parse [L] in the field of the day of the month'],
  ])('%j is refused with what is wrong in it', (text, problem) => expect(cronProblem(text)).toBe(problem));
});
