CREATE OR REPLACE FUNCTION record_state_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    here text := (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
  BEGIN
    IF TG_OP = 'UPDATE' AND OLD.origin <> here THEN
      -- Above the old one, whatever the clock of this server says.
      NEW.since := greatest(clock_timestamp(), OLD.since + interval '1 millisecond');
    END IF;
    NEW.origin := here;
    RETURN NEW;
  END $$;

ALTER TABLE "record_state" DISABLE TRIGGER "record_state_epoch";
UPDATE "record_state" SET "origin" = regexp_replace("origin", '/[^/]*$', '');
ALTER TABLE "record_state" ENABLE TRIGGER "record_state_epoch";
