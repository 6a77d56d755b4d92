-- Whether somebody holds a lane of a consumer under a lease that counts, as taking a lane judges it.
SELECT EXISTS (SELECT FROM karwan.lane WHERE consumer = $1 AND holder IS NOT NULL AND until >= clock_timestamp()
               AND until <= clock_timestamp() + ($2::bigint + 60000) * interval '1 millisecond')
