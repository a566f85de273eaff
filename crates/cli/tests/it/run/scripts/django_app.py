# Django's own applications: migrations there and back, transactions, and a rollback.
import django
from django.conf import settings
settings.configure(
    INSTALLED_APPS=['django.contrib.contenttypes', 'django.contrib.auth', 'django.contrib.sessions'],
    DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'p.db'}},
    SECRET_KEY='x', USE_TZ=True, DEFAULT_AUTO_FIELD='django.db.models.AutoField',
    PASSWORD_HASHERS=['django.contrib.auth.hashers.MD5PasswordHasher'])
django.setup()
from django.core.management import call_command
from django.contrib.auth.models import Group, User
from django.db import transaction
call_command('migrate', verbosity=0)
for i in range(20):
    user = User.objects.create(username='u%d' % i, email='e%d@x' % i)
    if i % 4 == 0:
        user.groups.add(Group.objects.get_or_create(name='g%d' % (i % 3))[0])
with transaction.atomic():
    User.objects.filter(username__startswith='u1').update(is_staff=True)
try:
    with transaction.atomic():
        User.objects.all().delete()
        raise RuntimeError
except RuntimeError:
    pass
print(User.objects.count(), User.objects.filter(is_staff=True).count(), Group.objects.count())
call_command('migrate', 'auth', '0005', verbosity=0)
call_command('migrate', verbosity=0)
print(User.objects.count())
