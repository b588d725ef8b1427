-- A dump that is restored in place of its database (DROP DATABASE, CREATE DATABASE) is on the same server and timeline. The
-- database itself is another one then: its OID is part of where a state was made.
ALTER TABLE "record_state" DISABLE TRIGGER "record_state_epoch";
UPDATE "record_state" SET "origin" = "origin" || '/' || (SELECT oid FROM pg_database WHERE datname = current_database());
ALTER TABLE "record_state" ENABLE TRIGGER "record_state_epoch";

CREATE OR REPLACE FUNCTION record_state_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    here text := (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
      || '/' || (SELECT oid FROM pg_database WHERE datname = current_database());
  BEGIN
    IF TG_OP = 'UPDATE' AND OLD.origin <> here THEN
      -- Above the old one, whatever the clock of this server says.
      NEW.since := greatest(clock_timestamp(), OLD.since + interval '1 millisecond');
    END IF;
    NEW.origin := here;
    RETURN NEW;
  END $$;
