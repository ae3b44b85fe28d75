select * from read_csv('customers.csv', types = {'bought': 'VARCHAR'})
